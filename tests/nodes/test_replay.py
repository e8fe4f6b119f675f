"""A replayed node sends what was recorded, at its times, on another clock and in lockstep."""

import numpy as np
import pytest

from interlock.messages import Command, Grant, ObjectPoses, Received, Stamp
from interlock.nodes import replay, trace_sink
from interlock.nodes._lockstep import Lockstep
from interlock.nodes._node import Context
from interlock.nodes.replay import ReplayNode
from interlock.operators.trace import Trace, TraceError

MS = 1_000_000


@pytest.fixture
def recorded(plant, make):
    """Two nodes, 10 messages each, from 100 ms on."""
    for i in range(10):
        seen = plant.send("sim/state", make.state(gripper_width_m=i / 100), at_ms=100 + 10 * i)
        command = Command(task="old", space="hold", start_ns=(150 + i) * MS)
        plant.send("policy/command", command, at_ms=105 + 10 * i, basis=[seen])
    grant = Grant(request="p-1", owner="policy", task="old", state="granted")
    plant.send("gate/grant", grant, at_ms=101)
    plant.trace()
    return plant.folder


def node(recorded, name):
    context = Context(node_id=name, run_id="r", run_dir=recorded, dataflow_dir=recorded.parent)
    return ReplayNode(ReplayNode.Settings(trace=recorded.name), context)


def test_messages_leave_at_their_recorded_times(recorded):
    replayed = node(recorded, "sim")
    sent = [len(list(replayed.on_start(5000 * MS)))]
    sent += [len(list(replayed.on_tick((5000 + 10 * i) * MS))) for i in range(1, 10)]
    assert sent == [1] * 10
    assert replayed.finished == "replayed 10 messages of sim"


def test_times_and_basis_move_with_the_clock(recorded):
    replayed = node(recorded, "policy")
    list(replayed.on_start(5000 * MS))
    [output] = replayed.on_tick(5005 * MS)
    assert output.message.start_ns == 5050 * MS
    assert output.basis[0].observed_ns == 5000 * MS
    assert output.observed_ns == 5000 * MS


def test_recorded_tokens_become_those_granted_now(recorded):
    replayed = node(recorded, "policy")
    list(replayed.on_start(0))
    grant = Grant(request="p-1", owner="policy", task="new", state="granted")
    stamp = Stamp(source="gate", seq=0, observed_ns=0, sent_ns=0)
    received = Received(message=grant, stamp=stamp, output="grant", received_ns=0)
    list(replayed.on_message("grant", received, 0))
    assert [o.message.task for o in replayed.on_tick(15 * MS)] == ["new", "new"]


def test_object_times_move_too(plant):
    poses = ObjectPoses(names=("cup",), world_from_object=np.zeros((1, 7)), confidence=np.ones(1),
                        observed_ns=np.array([90 * MS]))  # fmt: skip
    plant.send("tracker/objects", poses, at_ms=100)
    plant.trace()
    [output] = node(plant.folder, "tracker").on_start(1000 * MS)
    assert output.message.observed_ns.tolist() == [990 * MS]


def test_a_node_that_was_not_recorded_is_named_with_the_nearest(recorded):
    with pytest.raises(TraceError, match="holds nothing of node 'polcy'; did you mean 'policy'"):
        node(recorded, "polcy")


def test_a_replay_in_lockstep_records_the_same_content(recorded, tmp_path):
    graph = {"nodes": [
        {"id": "sim", "path": replay.__file__, "outputs": ["state"],
         "inputs": {"tick": "dora/timer/millis/5"}, "env": {"TRACE": str(recorded)}},
        {"id": "trace", "path": trace_sink.__file__, "outputs": ["event"],
         "inputs": {"tick": "dora/timer/millis/100", "state": "sim/state"}},
    ]}  # fmt: skip
    run = Lockstep(graph, dataflow_dir=tmp_path, run_dir=tmp_path / "again")
    run.start()
    run.run_until(1000 * MS)
    run.stop()
    widths = [r.message.gripper_width_m for r in Trace(tmp_path / "again").messages()]
    assert widths == [i / 100 for i in range(10)]
