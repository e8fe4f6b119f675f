"""The simulator node: it follows what the Gate sealed, to its rest, and nothing else."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interlock.gate.seal import seal
from interlock.messages import AdmittedCommand, Event, Received, RobotState, Stamp
from interlock.nodes._node import Context
from interlock.nodes._seal_key import seal_key
from interlock.nodes.simulator import SimulatorNode

MS = 1_000_000


def node(folder: Path, **settings: Any) -> SimulatorNode:
    """A simulator in lockstep."""
    context = Context(node_id="simulator", run_id="test", run_dir=folder, lockstep=True)
    simulator = SimulatorNode(SimulatorNode.Settings(**settings), context)
    list(simulator.on_start(0))
    return simulator


def received(message: Any, now_ns: int) -> Received[Any]:
    """A message as it arrives."""
    stamp = Stamp(source="gate", seq=0, observed_ns=now_ns, sent_ns=now_ns)
    return Received(message=message, stamp=stamp, output="command", received_ns=now_ns)


def motion(simulator: SimulatorNode, *, start_ns: int, sealed: bool = True) -> AdmittedCommand:
    """Move joint 1 by 0.1 rad within 0.5 s on a smooth profile that ends at rest."""
    t = np.linspace(0.0, 1.0, 51)[:, None]
    home = simulator.driver.set_point.position
    shape = np.zeros((1, 7))
    shape[0, 0] = 0.1
    command = AdmittedCommand(
        run="test",
        number=0,
        task="t",
        start_ns=start_ns,
        continues=-1,
        period_ns=10 * MS,
        position=home + shape * t**3 * (10 - 15 * t + 6 * t**2),
        velocity=shape * 30 * t**2 * (1 - t) ** 2 / 0.5,
        acceleration=shape * 60 * t * (1 - t) * (1 - 2 * t) / 0.25,
        stop_index=30,
    )
    return seal(command, seal_key(simulator.context)) if sealed else command


def states(simulator: SimulatorNode, until_ms: int, start_ms: int = 0) -> list[RobotState]:
    """Tick every 10 ms and collect the states."""
    found = []
    for now_ms in range(start_ms + 10, until_ms + 1, 10):
        found += [o.message for o in simulator.on_tick(now_ms * MS) if o.output == "state"]
    return found


def test_a_sealed_command_is_followed_to_its_rest(tmp_path: Path) -> None:
    simulator = node(tmp_path)
    start = states(simulator, 50)[-1]
    assert (
        list(simulator.on_command(received(motion(simulator, start_ns=60 * MS), 50 * MS), 0)) == []
    )
    found = states(simulator, 900, 50)
    assert [s.phase for s in (found[10], found[40], found[-1])] == ["segment", "stop", "hold"]
    assert abs(found[-1].position[0] - start.position[0] - 0.1) < 1e-4
    assert found[-1].at_rest
    lag = max(np.abs(s.position - s.commanded_position).max() for s in found)
    assert lag < 0.01


def test_an_unsealed_command_moves_nothing_and_is_told(tmp_path: Path) -> None:
    simulator = node(tmp_path)
    forged = motion(simulator, start_ns=60 * MS, sealed=False)
    events = list(simulator.on_command(received(forged, 0), 0))
    assert "bad_seal" in events[0].message.text
    final = states(simulator, 500)[-1]
    assert (final.executing, final.refused, final.phase) == (-1, 1, "hold")


def test_a_replayed_command_is_refused(tmp_path: Path) -> None:
    simulator = node(tmp_path)
    command = motion(simulator, start_ns=60 * MS)
    assert list(simulator.on_command(received(command, 0), 0)) == []
    assert "replay" in next(iter(simulator.on_command(received(command, 0), 0))).message.text


def test_two_runs_with_the_same_seed_are_bit_identical(tmp_path: Path) -> None:
    def run() -> bytes:
        simulator = node(tmp_path)
        list(simulator.on_command(received(motion(simulator, start_ns=60 * MS), 0), 0))
        return b"".join(s.physics.tobytes() for s in states(simulator, 800))

    assert run() == run()


def test_when_the_gate_ends_the_simulator_ends_at_rest_and_reports(tmp_path: Path) -> None:
    simulator = node(tmp_path)
    list(simulator.on_command(received(motion(simulator, start_ns=20 * MS), 0), 0))
    states(simulator, 200)
    list(simulator.on_closed("command", "died: killed by signal 9", 200 * MS))
    states(simulator, 300, 200)
    assert not simulator.failed
    states(simulator, 900, 300)
    assert simulator.failed == (
        "node gate died: killed by signal 9; the arm is at rest along its verified stop"
    )
    list(simulator.on_stop(900 * MS))
    report = json.loads((tmp_path / "driver.json").read_text())
    assert report["at_rest"]
    assert np.abs(np.subtract(report["rest_position"], report["predicted_rest"])).max() < 1e-3


def test_a_pushed_cup_moves(tmp_path: Path) -> None:
    simulator = node(tmp_path)
    before = simulator.driver.world.object_pose("cup_red")
    push = {"action": "push", "name": "cup_red", "by_m": [0.0, 0.08, 0.0], "duration_s": 0.2}
    event = Event(kind="disturbance", text="push", data=json.dumps(push))
    [told] = list(simulator.on_disturb(received(event, 0), 0))
    states(simulator, 600)
    moved = simulator.driver.world.object_pose("cup_red") - before
    assert abs(moved[1] - 0.08) < 0.02
    assert told.message.kind == "disturbance"


@pytest.mark.parametrize(
    "data", ["{}", "not json", '{"action": "reset"}', '{"action": "push", "name": "no"}']
)
def test_a_broken_disturbance_is_refused_and_harmless(tmp_path: Path, data: str) -> None:
    simulator = node(tmp_path)
    [told] = list(simulator.on_disturb(received(Event(kind="x", text="", data=data), 0), 0))
    assert (told.message.kind, told.message.text[:20]) == ("warning", "disturbance refused:")


def test_a_simulation_that_explodes_ends_the_run_by_name(tmp_path: Path) -> None:
    simulator = node(tmp_path)
    simulator.driver.world.data.qvel[0] = 1e9
    states(simulator, 30)
    assert simulator.failed.startswith("simulation invalid: ")
    assert dataclasses.asdict(simulator.settings)["scene"] == "tabletop"
