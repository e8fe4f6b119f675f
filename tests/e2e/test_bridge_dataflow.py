"""configs/dataflows/bridge.yml under dora: our own agent drives it; what leaves it is at rest."""

import asyncio
import contextlib
import json
from pathlib import Path

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from interlock.messages.arrays_msgpack import pack, unpack
from interlock.messages.contract import Contract
from interlock.operators.trace import Trace
from interlock.policies.robot import FunctionModel, RobotAgent
from interlock.robots.bridge.control_client import ControlClient

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.dora


@pytest.fixture
def bridge(start, tmp_path):
    """The shipped dataflow on free ports."""
    text = (ROOT / "configs/dataflows/bridge.yml").read_text()
    text = text.replace("../../nodes", str(ROOT / "nodes"))
    text = text.replace("CONTROL_PORT: 8766", "CONTROL_PORT: 0").replace("PORT: 8765", "PORT: 0")
    file = tmp_path / "bridge.yml"
    file.write_text(text)
    run = start(file)
    run.wait_for("serving the arm at", within_s=60)
    [told] = [e for e in run.events("bridge") if "serving" in e.get("text", "")]
    return run, json.loads(told["data"])


def messages(run, *edges):
    return [r.message for r in Trace(run.run_dir).messages(outputs=list(edges))]


def state_of(run):
    return messages(run, "simulator/state")[-1]


def last_words(link):
    words = ""
    with contextlib.suppress(ConnectionClosed):
        while True:
            words = link.recv(timeout=10)
    return words


def test_an_agent_drives_the_arm_and_every_verdict_is_in_the_trace(bridge):
    run, told = bridge
    control = ControlClient(told["control_port"])
    contract = Contract.from_json(control.call("contract")["contract"])
    turns = iter(np.linspace(0.0, 0.2, 11)[1:])
    first = []

    def infer(batch):
        joints = np.asarray(batch["observation/joint_position"], np.float32)
        first.append(joints[0])
        return np.array([[first[0] + next(turns), *joints[1:], 0.08]], np.float32)

    agent = RobotAgent(FunctionModel(infer), max_steps=10)
    rollout = asyncio.run(agent.run(told["url"], contract))
    assert rollout.steps == 10
    run.wait_for(lambda: state_of(run).at_rest and messages(run, "bridge/result"))
    assert state_of(run).position[0] - first[0] > 0.05
    verdicts = messages(run, "gate/verdict")
    assert any(v.admitted for v in verdicts)
    run.press_ctrl_c()
    run.end()
    assert run.left_behind() == []


def test_a_nan_ends_the_client_and_the_arm_is_at_rest(bridge):
    run, told = bridge
    with connect(told["url"], compression=None) as link:
        link.recv()
        link.send(pack({"claim": None}))
        seen = unpack(link.recv(timeout=10))
        joints = seen["observation/joint_position"]
        link.send(pack({"actions": np.array([joints[0] + 0.05, *joints[1:], 0.08], np.float32)}))
        assert unpack(link.recv(timeout=10))["meta"]["seq"] == 1
        link.send(pack({"actions": np.full(8, np.nan, np.float32)}))
        assert "bad_action" in last_words(link)
    run.wait_for(lambda: messages(run, "bridge/result"))
    assert len(messages(run, "gate/verdict")) == 1
    run.wait_for(lambda: state_of(run).at_rest)
    assert messages(run, "gate/status")[-1].arm_task == ""
