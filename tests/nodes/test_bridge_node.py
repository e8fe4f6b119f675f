"""An outside agent drives the simulated Panda over a real socket; simulated time waits for it."""

import contextlib
import threading
from pathlib import Path

import numpy as np
import pytest
import yaml
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from interlock.messages import SettingsError
from interlock.messages.arrays_msgpack import pack, unpack
from interlock.nodes._lockstep import Lockstep
from interlock.operators.trace import Trace
from interlock.robots.bridge.control_client import ControlClient
from interlock.robots.bridge.settings import read_token

FLOWS = Path(__file__).parents[2] / "configs" / "dataflows"
MS = 1_000_000


def flow(**env):
    dataflow = yaml.safe_load((FLOWS / "bridge.yml").read_text())
    own = {"PORT": 0, "CONTROL_PORT": 0, "PACE": "lockstep", "WAIT_S": 2.0}
    camera = {"WIDTH": 32, "HEIGHT": 32}
    return dataflow, {"bridge": own | env, "camera": camera}


class Rig:
    """The dataflow on simulated time, on a thread; the test is the client."""

    def __init__(self, folder, **env):
        dataflow, extra = flow(**env)
        self.folder = folder
        self.stack = contextlib.ExitStack()
        self.run = Lockstep(dataflow, dataflow_dir=FLOWS, run_dir=folder, extra_env=extra)
        self.run.start()
        while self.run.node("bridge").server is None:
            self.run.run_until(self.run.now_ns + 20 * MS)
        self.server = self.run.node("bridge").server
        self.thread = threading.Thread(target=self._go, daemon=True)
        self.thread.start()

    def _go(self):
        while not self.run.node("bridge").finished and not self.run.done:
            self.run.run_until(self.run.now_ns + 20 * MS)
        self.run.run_until(self.run.now_ns + 3000 * MS)
        self.run.stop()

    def dial(self, token=None):
        link = self.stack.enter_context(connect(self.server.url, compression=None))
        link.recv()
        link.send(pack({"claim": token}))
        return link, unpack(link.recv(timeout=10))

    def end(self):
        self.thread.join(30)
        assert not self.run.failures
        return Trace(self.folder)


@pytest.fixture
def rig(tmp_path):
    rigs = []

    def make(**env):
        rigs.append(Rig(tmp_path / "run", **env))
        return rigs[-1]

    yield make
    for one in rigs:
        one.stack.close()
        one.run.node("bridge").finished = "the test is over"
        one.thread.join(30)


def act(link, action):
    link.send(pack({"actions": np.asarray(action, np.float32)}))
    return unpack(link.recv(timeout=10))


def target(seen, turn=0.0, width=0.08):
    joints = seen["observation/joint_position"].copy()
    joints[0] += turn
    return [*joints, width]


def error_of(link):
    error = link.recv(timeout=10)
    assert isinstance(error, str)
    with pytest.raises(ConnectionClosed):
        link.recv(timeout=10)
    return error


def test_the_arm_is_where_an_admitted_action_told_it_to_be(rig):
    link, before = rig().dial()
    assert before["observation/front"].shape == (32, 32, 3)
    after = act(link, target(before, 0.04))
    turned = after["observation/joint_position"][0] - before["observation/joint_position"][0]
    assert turned == pytest.approx(0.04, abs=0.005)
    assert after["meta"]["seq"] == 1
    assert after["meta"]["verdict"] == {"admitted": True}
    assert after["meta"]["observed_ns"] > before["meta"]["observed_ns"]
    link.close()


def test_what_the_gate_refuses_does_not_move_the_arm_and_says_why(rig):
    link, before = rig().dial()
    after = act(link, target(before, 1.5))
    verdict = after["meta"]["verdict"]
    assert not verdict["admitted"]
    assert "joint_velocity" in verdict["codes"]
    assert "rad/s" in verdict["message"]
    moved = after["observation/joint_position"] - before["observation/joint_position"]
    assert np.abs(moved).max() < 0.005
    assert act(link, target(after, 0.02))["meta"]["verdict"] == {"admitted": True}
    link.close()


def test_a_nan_ends_that_client_before_the_gate_and_the_next_one_may_drive(rig):
    served = rig()
    link, _ = served.dial()
    link.send(pack({"actions": np.full(8, np.nan, np.float32)}))
    assert "bad_action" in error_of(link)
    again, seen = served.dial()
    act(again, target(seen, 0.02))
    again.close()
    trace = served.end()
    assert len(list(trace.messages(outputs=["gate/verdict"]))) == 1


def test_a_client_that_leaves_in_motion_leaves_the_arm_at_rest_and_its_task_over(rig):
    served = rig()
    link, before = served.dial()
    act(link, target(before, 0.05))
    link.send(pack({"actions": np.asarray(target(before, 0.1), np.float32)}))
    link.close()
    trace = served.end()
    [cancel, *_] = trace.messages(outputs=["bridge/cancel"])
    states = list(trace.messages(outputs=["simulator/state"]))
    assert any(s.message.at_rest for s in states if s.stamp.sent_ns >= cancel.stamp.sent_ns)
    assert states[-1].message.phase == "hold"
    assert list(trace.messages(outputs=["gate/status"]))[-1].message.arm_task == ""


def test_the_prompt_of_the_episode_names_the_task_at_the_gate(rig):
    served = rig()
    control = ControlClient(served.server.control_port)
    episode = control.call("reset", prompt="wave")
    assert episode["prompt"] == "wave"
    link, _ = served.dial(episode["token"])
    link.close()
    requests = [r.message for r in served.end().messages(outputs=["bridge/request"])]
    assert requests[0].name == "bridge: wave"


def test_real_time_in_simulated_time_is_refused(tmp_path):
    with pytest.raises(SettingsError, match="PACE has to be lockstep"):
        Rig(tmp_path / "run", PACE="realtime")


def test_a_token_file_that_others_may_read_is_refused(tmp_path):
    file = tmp_path / "token"
    file.write_text("secret\n")
    file.chmod(0o644)
    with pytest.raises(SettingsError, match="others may read it"):
        read_token(file)
    file.chmod(0o600)
    assert read_token(file) == "secret"
