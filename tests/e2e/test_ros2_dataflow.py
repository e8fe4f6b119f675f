"""configs/dataflows/ros2.yml under dora, with a stand-in for dora's ROS 2 bridge and the arm."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from interlock.operators.trace import Trace
from interlock.robots import panda

pytestmark = pytest.mark.dora

ROOT = Path(__file__).parents[2]
STAND_IN = """
import pyarrow as pa
from dora import Node

position = START
node = Node()
while (event := node.next()) is not None and event["type"] != "STOP":
    if event["type"] != "INPUT":
        continue
    if event["id"] == "joint_command":
        position = event["value"][0].as_py()["data"]
    else:
        names = [f"panda_joint{i}" for i in range(1, 8)]
        row = {"name": names, "position": position, "velocity": [0.0] * 7, "effort": []}
        node.send_output("joint_states", pa.array([row]), {})
"""
PROGRAM = """
from interlock.policies.program import start
from interlock.policies.skills import MoveTo


async def main():
    await start(MoveTo(joints_rad=(0.2, -0.3, 0.0, -2.2, 0.0, 2.0, 0.785)))
"""


@pytest.fixture
def arm(start, tmp_path):
    """Start the dataflow with the arm at a position and a program that turns its first joint."""

    def begin(position):
        (tmp_path / "arm.py").write_text(STAND_IN.replace("START", str(list(map(float, position)))))
        (tmp_path / "turn.py").write_text(PROGRAM)
        dataflow = yaml.safe_load((ROOT / "configs/dataflows/ros2.yml").read_text())
        for node in dataflow["nodes"]:
            if node.pop("ros2", None):
                node["path"] = "arm.py"
                node["inputs"]["tick"] = "dora/timer/millis/20"
            elif node["id"] == "skills":
                node["path"] = str(ROOT / "nodes/policy.py")
                node["env"] |= {"POLICY": "program", "PROGRAM": "turn.py"}
            else:
                node["path"] = str(ROOT / "nodes" / Path(node["path"]).name)
        # The check knows dora's bridge by its `ros2:`, which the stand-in does not have.
        heard = dataflow["nodes"][-1]["inputs"]
        heard["arm"] = {"source": "ros2_arm/joint_states", "queue_size": 20000}
        heard["told"] = {"source": "joints/joint_command", "queue_size": 20000}
        file = tmp_path / "ros2.yml"
        file.write_text(yaml.safe_dump(dataflow))
        return start(file)

    return begin


def last_of(run, edge):
    found = [r.message for r in Trace(run.run_dir).messages(outputs=[edge])]
    return found[-1] if found else None


def test_a_program_moves_the_arm_behind_ros2_and_it_ends_at_rest(arm):
    run = arm(panda.HOME)
    run.wait_for(lambda: last_of(run, "skills/result"), within_s=40)
    assert last_of(run, "skills/result").status == "succeeded"
    state = last_of(run, "joints/state")
    assert state.position[0] == pytest.approx(0.2, abs=0.02)
    assert run.end() == 0
    assert run.left_behind() == []


def test_an_arm_that_is_elsewhere_gets_no_set_points_and_the_gate_no_state(arm):
    run = arm(panda.HOME + 0.3 * np.eye(7)[1])
    run.wait_for(lambda: "joint 2 is at" in (run.run_dir / "dora.log").read_text(), within_s=40)
    run.wait_for(lambda: last_of(run, "gate/status"))
    assert last_of(run, "gate/status").state == "waiting"
    assert last_of(run, "joints/state") is None
    run.press_ctrl_c()
    run.end()
    assert run.left_behind() == []
