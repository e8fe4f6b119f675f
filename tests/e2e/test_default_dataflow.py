"""The default dataflow as real processes: what happened is told from the trace."""

import json
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest

from interlock.cli.dora_tool import dora_environment, dora_program
from interlock.cli.run_processes import processes_of
from interlock.messages import AdmittedCommand, Command, ObjectPoses, RobotState, Verdict
from interlock.operators.trace import Trace

pytestmark = pytest.mark.dora
ROOT = Path(__file__).parents[2]
DATAFLOW = ROOT / "dataflow.yml"


def cup_is_on_the_tray(trace):
    """Return True when the last seen place of the red cup is over the tray."""
    poses = trace.of(ObjectPoses)[-1].message
    x, y = poses.world_from_object[poses.names.index("cup_red"), :2]
    return abs(x - 0.30) < 0.12 and abs(y - 0.38) < 0.12


def assert_accounted_for(trace):
    """Every command has a verdict, and everything that moved the arm a basis in the trace."""
    judged = {(v.message.source, v.message.seq) for v in trace.of(Verdict)}
    assert judged >= {(c.stamp.source, c.stamp.seq) for c in trace.of(Command)}
    admitted = trace.of(AdmittedCommand)
    assert admitted
    for command in admitted:
        assert command.stamp.basis
    sources = {b.source for c in trace.of(Command) for b in c.stamp.basis}
    assert {"simulator", "tracker"} <= sources


def gaps(run_dir):
    summary = json.loads((run_dir / "trace" / "summary.json").read_text())
    return {name: found["gaps"] for name, found in summary["outputs"].items() if found["gaps"]}


def test_the_cup_is_picked_and_placed_and_everything_is_accounted_for(start):
    run = start(DATAFLOW)
    assert run.end(within_s=90) == 0, run.output
    assert "scripted: succeeded" in run.output
    trace = Trace(run.run_dir)
    assert cup_is_on_the_tray(trace)
    assert_accounted_for(trace)
    assert gaps(run.run_dir) == {}
    driver = json.loads((run.run_dir / "driver.json").read_text())
    assert driver["at_rest"]
    assert run.left_behind() == []


def test_ctrl_c_stops_the_arm_and_leaves_a_complete_trace(start):
    run = start(DATAFLOW)
    run.wait_for(lambda: moving(run))
    run.press_ctrl_c()
    assert run.end(within_s=3.5) == 130
    assert run.outcome["status"] == "stopped"
    assert run.outcome["killed"] == []
    assert json.loads((run.run_dir / "driver.json").read_text())["at_rest"]
    assert gaps(run.run_dir) == {}
    assert run.left_behind() == []


def moving(run):
    """Return True once the arm moves, as the trace on disk has it."""
    states = Trace(run.run_dir).of(RobotState)[-40:]
    return any(s.message.tool_speed_mps > 0.05 for s in states)


def test_plain_dora_run_ends_by_itself_and_the_gate_says_what_is_missing(tmp_path):
    environ = dora_environment({"INTERLOCK_RUN_DIR": str(tmp_path / "run")})
    environ.pop("DORA_ZENOH_CONFIG_OVERLAY", None)
    done = subprocess.run(
        [dora_program(), "run", str(DATAFLOW)],
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    told = (tmp_path / "run" / "events" / "gate.jsonl").read_text()
    assert "DORA_ZENOH_CONFIG_OVERLAY is not set" in told
    assert cup_is_on_the_tray(Trace(tmp_path / "run"))
    assert processes_of(tmp_path / "run") == []


@pytest.mark.parametrize("node", ["policy", "gate", "tracker", "camera", "trace", "simulator"])
def test_a_killed_node_is_named_and_the_arm_is_at_rest(start, node):
    run = start(DATAFLOW)
    run.wait_for(lambda: moving(run), within_s=60)
    run.hit(node)
    assert run.end(within_s=30) == 1
    assert f"node {node!r} died: exited because of signal SIGKILL" in run.outcome["reason"]
    assert_at_rest(run, node)
    assert run.left_behind() == []


@pytest.mark.parametrize("node", ["policy", "gate", "tracker", "camera", "trace", "simulator"])
def test_a_suspended_node_is_named_and_the_arm_is_at_rest(start, node):
    run = start(DATAFLOW)
    run.wait_for(lambda: moving(run), within_s=60)
    run.hit(node, signal.SIGSTOP)
    assert run.end(within_s=30) == 1
    assert f"node {node!r} hangs" in run.outcome["reason"]
    assert_at_rest(run, node)
    assert run.left_behind() == []


def assert_at_rest(run, node):
    """The driver says itself that it stands, where its last command was to end."""
    if node == "simulator":
        return  # nothing moves any more, and it can say nothing
    driver = json.loads((run.run_dir / "driver.json").read_text())
    assert driver["at_rest"]
    error = np.abs(np.subtract(driver["rest_position"], driver["predicted_rest"])).max()
    assert error < 0.02  # rad


def test_killing_dora_brings_the_arm_to_rest(start):
    run = start(DATAFLOW)
    run.wait_for(lambda: moving(run), within_s=60)
    run.hit("")
    assert run.end(within_s=20) == 1
    assert run.outcome["reason"] == "dora was killed by SIGKILL"
    assert_at_rest(run, "")
    assert run.left_behind() == []


def test_a_wrong_gl_back_end_does_not_matter_to_the_ray_camera(start):
    """Field case F01."""
    run = start(DATAFLOW, MUJOCO_GL="elg")
    run.wait_for(lambda: moving(run), within_s=60)
    run.press_ctrl_c()
    assert run.end(within_s=5) == 130


def test_a_wrong_gl_back_end_is_one_line_for_the_opengl_camera():
    command = ["interlock", "start", str(ROOT / "configs/dataflows/gl-camera.yml")]
    done = subprocess.run(
        command,
        env={**dora_environment(), "MUJOCO_GL": "elg"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "did you mean 'egl'?" in done.stderr
    assert "Traceback" not in done.stderr + done.stdout
