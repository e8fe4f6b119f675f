"""A ROS 2 arm without ROS 2: its messages as Arrow, and the driver in front of it."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from interlock.cli.dataflow_check import check_dataflow
from interlock.messages import MessageError, SettingsError
from interlock.nodes._node import Context
from interlock.nodes._ros2 import Hold, Measured, joined, joint_command, read_joint_state
from interlock.nodes.driver import DriverNode
from interlock.robots import panda

FLOW = Path(__file__).parents[2] / "configs" / "dataflows" / "ros2.yml"
JOINTS = [f"panda_joint{i}" for i in range(1, 8)]
FINGERS = ["panda_finger_joint1", "panda_finger_joint2"]


def joint_states(names, position, velocity=()):
    row = {"name": names, "position": list(position), "velocity": list(velocity), "effort": []}
    return pa.array([row])


def driver(**settings):
    context = Context(node_id="driver", run_id="r", run_dir=Path(), lockstep=True)
    return DriverNode(DriverNode.Settings(**settings), context)


def test_the_shipped_dataflow_is_sound():
    assert check_dataflow(FLOW).problems == ()


def test_joints_are_found_by_name_in_any_order_and_the_fingers_add_up():
    names = [*FINGERS, *reversed(JOINTS)]
    found = read_joint_state(
        joint_states(names, [0.01, 0.02, *range(7)]), joints=JOINTS, fingers=FINGERS
    )
    assert found.position.tolist() == [6, 5, 4, 3, 2, 1, 0]
    assert found.velocity.tolist() == [0] * 7
    assert found.width_m == pytest.approx(0.03)


@pytest.mark.parametrize(
    ("names", "position", "words"),
    [
        (JOINTS[:6], range(6), "no joint panda_joint7"),
        (JOINTS, [np.nan, *range(6)], "NaN"),
        (JOINTS, range(5), "5 of position for 7 names"),
    ],
)
def test_joint_states_that_do_not_fit_are_refused(names, position, words):
    with pytest.raises(MessageError, match=words):
        read_joint_state(joint_states(names, position), joints=JOINTS)


def test_joint_states_of_another_device_are_passed_over():
    assert read_joint_state(joint_states(["wheel"], [1.0]), joints=JOINTS) is None


def test_a_command_has_the_fields_of_a_float64_multi_array():
    array = joint_command(np.arange(7.0))
    assert array[0].as_py() == {
        "layout": {"dim": [], "data_offset": 0},
        "data": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
    }


def test_set_points_are_held_back_while_the_arm_is_elsewhere():
    hold = Hold(0.1)
    here = Measured(position=panda.HOME, velocity=np.zeros(7), width_m=None)
    assert "not said where it is" in hold.why_not(panda.HOME, None)
    assert hold.why_not(panda.HOME + 0.05, here) == ""
    assert "joint 3 is at" in hold.why_not(panda.HOME + 0.2 * np.eye(7)[2], here)


def test_the_state_joins_what_is_told_and_what_is_measured():
    [output] = driver().on_tick(1)
    moving = Measured(position=panda.HOME + 0.01, velocity=np.full(7, 0.5), width_m=0.03)
    state = joined(output.message, moving)
    assert state.commanded_position == pytest.approx(panda.HOME)
    assert state.position == pytest.approx(panda.HOME + 0.01)
    assert (state.gripper_width_m, state.at_rest) == (0.03, False)
    assert state.tool_speed_mps > 0.1


def test_the_driver_stands_at_its_start_and_leaves_at_rest_when_the_gate_has_ended():
    node = driver(start="[0, -0.3, 0, -2.2, 0, 2.0, 0.7]")
    [output] = node.on_tick(1)
    assert output.message.commanded_position[6] == pytest.approx(0.7)
    node.on_closed("command", "died: killed", 2)
    list(node.on_tick(3))
    assert node.failed == "node gate died: killed; the set-point is at rest"


def test_a_start_outside_the_limits_is_refused():
    with pytest.raises(SettingsError, match="inside the limits"):
        driver(start="[9, 0, 0, 0, 0, 0, 0]")
