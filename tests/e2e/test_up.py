"""`interlock up` and `dora start`: a long-lived dora, its daemon killed, its commands misused."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import yaml

from interlock.cli.dora_tool import dora_environment, dora_program
from interlock.cli.run_processes import state_of
from interlock.messages import InterlockError, RobotState
from interlock.operators.trace import Trace

pytestmark = pytest.mark.dora
ROOT = Path(__file__).parents[2]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return str(server.getsockname()[1])


class Up:
    """A dora of its own: other ports, another home."""

    def __init__(self, folder):
        self.folder = folder
        self.environ = dora_environment(
            {
                "HOME": str(folder),
                "XDG_CONFIG_HOME": str(folder / ".config"),
                "DORA_COORDINATOR_PORT": free_port(),
                "DORA_DAEMON_LOCAL_LISTEN_PORT": free_port(),
                "INTERLOCK_RUN_DIR": str(folder / "run"),
            }
        )
        self.run_dir = folder / "run"
        interlock = [sys.executable, "-m", "interlock.cli.main", "up"]
        subprocess.run(interlock, env=self.environ, cwd=folder, check=True, timeout=60)

    def dora(self, *words, check=True, **environ):
        done = subprocess.run(
            [dora_program(), *words],
            env={**self.environ, **environ},
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    def processes(self):
        """Return pid -> command line of everything with this home, dora and nodes alike."""
        found = {}
        wanted = f"DORA_COORDINATOR_PORT={self.environ['DORA_COORDINATOR_PORT']}".encode()
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and wanted in (entry / "environ").read_bytes().split(b"\0"):
                    words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                    if state_of(int(entry.name)) not in ("Z", ""):
                        found[int(entry.name)] = words
        return found

    def nodes(self):
        return {p: words for p, words in self.processes().items() if "/nodes/" in words}

    def states(self):
        with contextlib.suppress(InterlockError):
            return Trace(self.run_dir).of(RobotState)
        return []

    def wait_for(self, condition, within_s=60.0):
        deadline = time.monotonic() + within_s
        while not condition():
            assert time.monotonic() < deadline, f"waited in vain; {self.processes()}"
            time.sleep(0.1)

    def ended(self, node):
        file = self.run_dir / "events" / f"{node}.jsonl"
        lines = [json.loads(x) for x in file.read_text().splitlines()] if file.exists() else []
        return next((x for x in lines if x["message"] == "Ended"), None)

    def driver(self):
        return json.loads((self.run_dir / "driver.json").read_text())

    def close(self):
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.dora("down", "--force", check=False)
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture
def up(tmp_path):
    dora = Up(tmp_path)
    yield dora
    dora.close()


def daemon_of(up):
    [pid] = [p for p, words in up.processes().items() if "dora daemon" in words]
    return pid


def test_dora_start_runs_the_default_dataflow_to_its_end(up):
    up.dora("start", str(ROOT / "dataflow.yml"), "--name", "r1", "--attach")
    assert up.ended("policy")["status"] == "finished"
    told = (up.run_dir / "events" / "gate.jsonl").read_text()
    assert "DORA_ZENOH_CONFIG_OVERLAY" not in told  # `interlock up` has set it
    assert up.nodes() == {}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "suspended"])
def test_without_the_daemon_the_arm_rests_and_every_node_ends_with_that_reason(up, number):
    up.dora("start", str(ROOT / "dataflow.yml"), "--name", "r1", "--detach")
    up.wait_for(lambda: any(s.message.tool_speed_mps > 0.05 for s in up.states()[-40:]))
    os.kill(daemon_of(up), number)
    up.wait_for(lambda: up.nodes() == {}, within_s=20)
    driver = up.driver()
    assert driver["at_rest"]
    error = np.abs(np.subtract(driver["rest_position"], driver["predicted_rest"])).max()
    assert error < 0.02  # rad
    for node in ("simulator", "gate", "policy", "trace"):
        assert up.ended(node)["status"] == "failed"
        assert "daemon is gone" in up.ended(node)["reason"]
    assert len(Trace(up.run_dir).of(RobotState)) > 20  # what was recorded is readable


@pytest.fixture
def idle(up, tmp_path):
    """Start a run in which nobody moves the arm."""
    dataflow = yaml.safe_load((ROOT / "configs/dataflows/noop.yml").read_text())
    for node in dataflow["nodes"]:
        node["path"] = str((ROOT / "configs/dataflows" / node["path"]).resolve())
        if node["id"] == "policy":
            node["env"]["DURATION_S"] = 60
    file = tmp_path / "idle.yml"
    file.write_text(yaml.safe_dump(dataflow))
    up.dora("start", str(file), "--name", "idle", "--detach")
    up.wait_for(lambda: len(up.states()) > 20)
    return up


def assert_unmoved(up):
    up.dora("stop", "idle", "--grace-duration", "3s", check=False)
    up.wait_for(lambda: up.nodes() == {}, within_s=20)
    positions = np.array([s.message.position for s in up.states()])
    assert np.abs(positions - positions[0]).max() < 1e-3
    assert up.driver()["executing"] == -1


def test_without_the_token_nobody_may_ask_the_coordinator_anything(idle, tmp_path):
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    home = {"HOME": str(stranger), "XDG_CONFIG_HOME": str(stranger / ".config")}
    for words in (["param", "set", "-d", "idle", "simulator", "x", "1"], ["stop", "idle"]):
        done = subprocess.run(
            [dora_program(), *words],
            env={**idle.environ, **home},
            cwd=stranger,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode != 0
    assert idle.nodes()
    assert_unmoved(idle)


def test_parameters_set_from_outside_change_nothing_and_are_told(idle):
    for node in ("gate", "simulator"):
        idle.dora("param", "set", "-d", "idle", node, "mode", '"shadow"')
    time.sleep(0.5)
    assert len(idle.nodes()) == 4
    assert_unmoved(idle)


EVIL = f"""
import importlib.util as u, time
s = u.spec_from_file_location("attacks", {str(Path(__file__).with_name("test_attacks.py"))!r})
m = u.module_from_spec(s); s.loader.exec_module(m)
from dora import Node
node, seq = Node(), 0
for event in node:
    if event["type"] == "INPUT":
        payload, metadata = m.encode(m.forged(number=seq))
        node.send_output("command", payload, metadata | m.stamp(seq))
        seq += 1
    elif event["type"] == "STOP":
        break
"""


def test_a_node_added_to_the_run_does_not_move_the_arm(idle, tmp_path):
    (tmp_path / "evil.py").write_text(EVIL)
    node = {"id": "evil", "path": "evil.py", "outputs": ["command"]}
    node["inputs"] = {"tick": "dora/timer/millis/50"}
    (tmp_path / "evil.yml").write_text(yaml.safe_dump(node))
    added = idle.dora("node", "add", "-d", "idle", "--from-yaml", "evil.yml", check=False)
    words = ["node", "connect", "-d", "idle", "evil/command", "simulator/command"]
    idle.dora(*words, check=False)
    time.sleep(2.0)
    assert added.returncode in (0, 1, 2)
    assert_unmoved(idle)


def test_a_gate_replaced_by_a_forger_does_not_move_the_arm(idle, tmp_path):
    (tmp_path / "evil.py").write_text(EVIL)
    nodes = yaml.safe_load((tmp_path / "idle.yml").read_text())["nodes"]
    node = next(n for n in nodes if n["id"] == "gate") | {"path": "evil.py", "env": {}}
    (tmp_path / "evil.yml").write_text(yaml.safe_dump(node))
    idle.dora("node", "replace", "-d", "idle", "gate", "--from-yaml", "evil.yml")
    time.sleep(2.0)
    assert_unmoved(idle)
    assert idle.driver()["refusals"]["bad_seal"] >= 1
