"""The Gate node with its real socket; no dora."""

import json
import socket
import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from interlock.cli.stop import reset, stop
from interlock.gate import DriverPort
from interlock.gate.control import socket_path
from interlock.gate.errors import GateConfigError, GraphError
from interlock.messages import (
    AdmittedCommand,
    Command,
    Grant,
    Received,
    RobotState,
    SettingsError,
    Stamp,
    TaskRequest,
    Verdict,
)
from interlock.nodes._node import Context
from interlock.nodes._seal_key import seal_key
from interlock.nodes.gate import GateNode
from interlock.robots import kinematics, panda

MS = 1_000_000


@dataclass
class Bench:
    """A Gate node and a driver port."""

    node: GateNode
    port: DriverPort
    now: int = 0
    seq: int = 0

    def give(self, port, message, source="policy"):
        self.seq += 1
        stamp = Stamp(source=source, seq=self.seq, observed_ns=self.now, sent_ns=self.now)
        received = Received(message=message, stamp=stamp, output=port, received_ns=self.now)
        return [o.message for o in getattr(self.node, f"on_{port}")(received, self.now)]

    def state(self):
        q = self.port.set_point(self.now).position
        still = np.zeros(7)
        return self.give(
            "state",
            RobotState(
                position=q,
                velocity=still,
                commanded_position=q,
                commanded_velocity=still,
                commanded_acceleration=still,
                gripper_width_m=0.08,
                gripper_target_m=0.08,
                gripper_force_n=0.0,
                world_from_tool=kinematics.forward(q),
                tool_speed_mps=0.0,
                at_rest=True,
                executing=self.port.set_point(self.now).executing,
            ),
            "simulator",
        )

    def token(self):
        self.state()
        told = self.give("request", TaskRequest(request="1", owner="me", name="t"))
        return next(m.task for m in told if isinstance(m, Grant) and m.state == "granted")

    def row(self, token, q):
        command = Command(task=token, space="joint", targets=q[None], period_ns=20 * MS)
        return self.give("command", command)


def context(tmp_path, **fields):
    fields = {"node_id": "gate", "run_id": "r", "run_dir": tmp_path, "lockstep": True} | fields
    return Context(**fields)


@pytest.fixture
def bench(tmp_path):
    made = context(tmp_path)
    node = GateNode(GateNode.Settings(), made)
    return Bench(node, DriverPort(seal_key(made), run="r", position=panda.HOME))


@pytest.fixture
def live(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    made = context(tmp_path, lockstep=False)
    node = GateNode(GateNode.Settings(), made)
    yield Bench(node, DriverPort(seal_key(made), run="r", position=panda.HOME))
    list(node.on_stop(0))


def test_an_admitted_command_goes_to_the_driver_and_its_verdict_to_the_policy(bench):
    told = bench.row(bench.token(), panda.HOME + 0.002)
    assert [type(m) for m in told] == [AdmittedCommand, Verdict]
    assert bench.port.accept(told[0], bench.now) is None


def test_a_refused_command_has_nothing_for_the_driver(bench):
    told = bench.row(bench.token(), panda.HOME + 1.0)
    assert [type(m) for m in told] == [Verdict]
    assert "joint_velocity" in told[0].codes


def test_verdicts_say_what_they_rest_on(bench):
    token = bench.token()
    command = Command(task=token, space="hold")
    stamp = Stamp(source="policy", seq=99, observed_ns=0, sent_ns=0)
    received = Received(message=command, stamp=stamp, output="command", received_ns=0)
    outputs = list(bench.node.on_command(received, 0))
    assert {f"{b.source}/{b.output}" for b in outputs[-1].basis} == {
        "policy/command",
        "simulator/state",
    }


def test_a_policy_whose_output_closes_loses_its_tasks(tmp_path):
    flow = {"nodes": [{"id": "gate", "path": "x", "inputs": {"command": "policy/command"}}]}
    bench = Bench(GateNode(GateNode.Settings(), context(tmp_path)), None)
    bench.port = DriverPort(seal_key(bench.node.context), run="r", position=panda.HOME)
    bench.node.context = context(tmp_path, dataflow=flow)
    token = bench.token()
    told = [o.message for o in bench.node.on_closed("command", "has died", 0)]
    revoked = next(m for m in told if isinstance(m, Grant))
    assert (revoked.task, revoked.state) == (token, "revoked")
    assert "node policy has died" in revoked.reason


def test_a_dataflow_with_another_way_to_the_driver_does_not_start(tmp_path):
    root = Path(__file__).parents[2]
    flow = {
        "nodes": [
            {
                "id": "simulator",
                "path": "nodes/simulator.py",
                "inputs": {"command": "policy/command"},
            },
            {"id": "policy", "path": "nodes/policy.py", "outputs": ["command"]},
            {"id": "gate", "path": "nodes/gate.py", "outputs": ["command"]},
        ]
    }
    with pytest.raises(GraphError):
        GateNode(GateNode.Settings(), context(tmp_path, dataflow=flow, dataflow_dir=root))


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"mode": "off"}, SettingsError),
        ({"config": "strict"}, SettingsError),
        ({"config": "missing.yml"}, GateConfigError),
    ],
)
def test_a_setting_that_is_not_acceptable_does_not_start(tmp_path, settings, error):
    with pytest.raises(error):
        GateNode(GateNode.Settings(**settings), context(tmp_path))


def ticking(bench):
    """Let the node's events come while the operator's command waits for its answer."""
    done = threading.Event()
    told = []

    def run():
        while not done.wait(0.01):
            bench.now += 10 * MS
            told.extend(o.message for o in bench.node.on_tick(bench.now))

    thread = threading.Thread(target=run)
    thread.start()
    return done, thread, told


def test_interlock_stop_reaches_the_gate_and_latches_until_interlock_reset(live):
    done, thread, _ = ticking(live)
    try:
        answer = CliRunner().invoke(stop, ["--reason", "trial"])
        assert answer.exit_code == 0, answer.output
        assert answer.output.startswith("r: stopped")
        assert live.node.gate.status(0).state == "stopped"
        assert CliRunner().invoke(reset, []).output.startswith("r: released")
        assert live.node.gate.status(0).state != "stopped"
    finally:
        done.set()
        thread.join()


def test_interlock_stop_without_a_gate_fails_with_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    answer = CliRunner().invoke(stop, [])
    assert answer.exit_code == 1
    assert "no Gate listens on this machine" in str(answer.exception)


def test_only_its_user_can_reach_the_socket(live):
    assert socket_path("r").stat().st_mode & 0o777 == 0o600
    assert socket_path("r").parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"not json\n",
        b"[]\n",
        b'{"do": "start"}\n',
        b'{"do": "stop", "category": 7}\n',
        b'{"do": "stop", "category": "1"}\n',
        b'{"do": "stop", "x": 1}\n',
        b"\xff\xfe\n",
        b"[" * 4000 + b"\n",
        b"x" * 9000 + b"\n",
    ],
)
def test_what_is_no_request_is_answered_with_an_error_and_changes_nothing(live, line):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(3)
        connection.connect(str(socket_path("r")))
        connection.sendall(line)
        connection.shutdown(socket.SHUT_WR)
        answer = json.loads(connection.makefile("rb").readline())
    assert answer["ok"] is False
    assert live.node.gate.status(0).state != "stopped"
