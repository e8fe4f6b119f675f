"""Field cases and bad input on the real dataflow: one clear line, what was recorded stays."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
import yaml

from interlock.messages import GateStatus, Image, ObjectPoses, RobotState
from interlock.operators.trace import Trace

pytestmark = pytest.mark.dora
ROOT = Path(__file__).parents[2]


@pytest.fixture
def changed(tmp_path):
    """Write the default dataflow after a change: ``changed(lambda nodes: ...)``."""

    def write(change):
        dataflow = yaml.safe_load((ROOT / "dataflow.yml").read_text())
        nodes = {n["id"]: n for n in dataflow["nodes"]}
        for node in nodes.values():
            node["path"] = str(ROOT / node["path"])
        change(nodes)
        dataflow["nodes"] = list(nodes.values())
        file = tmp_path / "changed.yml"
        file.write_text(yaml.safe_dump(dataflow, sort_keys=False))
        return file

    return write


def moving(run):
    return any(s.message.tool_speed_mps > 0.05 for s in Trace(run.run_dir).of(RobotState)[-40:])


def test_a_restarted_policy_begins_anew_and_a_failed_restart_ends_the_run(start, changed):
    """Field case E05."""

    def change(nodes):
        nodes["policy"] |= {"restart_policy": "on-failure", "max_restarts": 1, "restart_delay": 0.2}

    run = start(changed(change))
    run.wait_for(lambda: moving(run), within_s=60)
    first = run.pid("policy")
    run.hit("policy")
    run.wait_for(lambda: let_go(run), within_s=10)
    run.wait_for(lambda: run.pid("policy") != first, within_s=20)
    run.hit("policy")
    assert run.end(within_s=30) == 1
    assert "node 'policy'" in run.outcome["reason"]
    trace = Trace(run.run_dir)
    assert trace.of(RobotState)[-1].message.at_rest
    assert run.left_behind() == []


def let_go(run):
    """Return True once the Gate has taken the arm from a task that had it."""
    tasks = [s.message.arm_task for s in Trace(run.run_dir).of(GateStatus)]
    held = [i for i, task in enumerate(tasks) if task]
    return bool(held) and "" in tasks[held[0] :]


def test_what_a_slow_reader_uses_is_fresh(start, changed, tmp_path):
    """Field case E01, shortened: pictures at 30 Hz, a reader that is busy 200 ms per step."""
    (tmp_path / "reader.py").write_text(
        "import time\n"
        "from interlock.messages import Event, Image, Output\n"
        "from interlock.nodes._node import Node\n"
        "class Reader(Node):\n"
        "    inputs = {'image': Image}\n"
        "    outputs = {'event': Event}\n"
        "    slow = True\n"
        "    def on_image(self, received, now_ns):\n"
        "        time.sleep(0.2)\n"
        "        yield Output(output='event', basis=(received.basis,),\n"
        "                     message=Event(kind='age', text=str(received.age_ns(now_ns))))\n"
        "NODE = Reader\n"
        "if __name__ == '__main__':\n"
        "    from interlock.nodes._dora import run\n"
        "    run(NODE)\n"
    )

    def change(nodes):
        nodes["camera"] = {
            "id": "camera",
            "path": str(ROOT / "nodes/hub_camera.py"),
            "inputs": {"tick": "dora/timer/hz/30"},
            "outputs": ["image"],
        }
        nodes["tracker"]["env"] = {"SOURCE": "truth"}
        state = {"source": "simulator/state", "queue_size": 1}
        nodes["tracker"]["inputs"] = {"tick": "dora/timer/millis/100", "state": state}
        inputs = {"tick": "dora/timer/millis/100", "image": "camera/image"}
        nodes["reader"] = {"id": "reader", "path": "reader.py", "inputs": inputs}
        nodes["reader"]["outputs"] = ["event"]
        trace = nodes["trace"]["inputs"]
        for name in ("camera_depth", "camera_event"):
            del trace[name]
        trace["reader_event"] = {"source": "reader/event", "queue_size": 20000}

    run = start(changed(change))
    run.wait_for(lambda: len(ages_ms(run)) >= 25, within_s=60)
    run.press_ctrl_c()
    run.end(within_s=6)
    # Nothing waits for the reader, which takes 200 ms per step: a queue would add more than that.
    assert np.median(ages_ms(run)) < 200


def ages_ms(run):
    events = Trace(run.run_dir).messages(outputs=["reader/event"])
    return [int(e.message.text) / 1e6 for e in events]


def test_a_dead_camera_is_told_and_the_arm_holds(start):
    run = start(ROOT / "dataflow.yml")
    run.wait_for(lambda: moving(run), within_s=60)
    run.hit("camera")
    assert run.end(within_s=30) == 1
    assert "node 'camera' died: exited because of signal SIGKILL" in run.outcome["reason"]
    trace = Trace(run.run_dir)
    assert trace.of(Image)
    assert trace.of(ObjectPoses)
    assert trace.of(RobotState)[-1].message.at_rest


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk_under_the_trace_is_one_line_and_the_rest_stays_readable(start, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(small)]
    if shutil.which("mount") is None or subprocess.run(mount, check=False).returncode:
        pytest.skip("can't mount a small disk here")
    try:
        run = start(ROOT / "dataflow.yml", "--runs", str(small))
        assert run.end(within_s=60) == 1
        assert "No space left" in run.output or "disk" in run.output
        assert "Traceback" not in run.output
        [run_dir] = small.iterdir()
        assert len(Trace(run_dir).of(RobotState)) > 5
    finally:
        subprocess.run(["umount", "-l", str(small)], check=False)


def test_a_run_whose_policy_hangs_in_a_call_can_be_stopped(start, changed, tmp_path):
    """Field case E03 on the default dataflow."""
    (tmp_path / "hang.py").write_text(
        # A native call: unlike Python code, the policy node can't interrupt it.
        "import hashlib\nasync def main():\n    print('HANGING', flush=True)\n"
        "    hashlib.pbkdf2_hmac('sha256', b'a', b'b', 200_000_000)\n"
    )

    def change(nodes):
        nodes["policy"]["env"] = {"POLICY": "program", "PROGRAM": str(tmp_path / "hang.py")}

    run = start(changed(change))
    run.wait_for(lambda: "HANGING" in run.log(), within_s=60)
    time.sleep(0.3)
    run.press_ctrl_c()
    assert run.end(within_s=4) == 130
    assert run.outcome["status"] == "stopped"
    assert "policy" in run.outcome["killed"]
    assert run.left_behind() == []


def test_a_scene_that_explodes_ends_the_run_with_the_step_and_what_broke(start, changed, tmp_path):
    """Field case F03: bodies that start inside one another."""
    scene = yaml.safe_load((ROOT / "configs/scenes/tabletop.yml").read_text())
    scene["objects"][1] |= {"position_m": scene["objects"][0]["position_m"], "mass_kg": 1e-6}
    (tmp_path / "burst.yml").write_text(yaml.safe_dump(scene))

    def change(nodes):
        for node in nodes.values():
            if "SCENE" in (node.get("env") or {}):
                node["env"]["SCENE"] = str(tmp_path / "burst.yml")

    run = start(changed(change))
    code = run.end(within_s=60)
    assert code == 1
    assert "Traceback" not in run.output
    assert run.outcome["reason"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)
def test_a_run_can_be_stopped_while_it_still_starts(start, number):
    run = start(ROOT / "dataflow.yml")
    run.wait_for("nodes; run")
    run.process.send_signal(number)
    assert run.end(within_s=5) == 130
    assert run.left_behind() == []
