"""Does the policy fit the robot: every mismatch by name, before anything moves (B06, B08)."""

import dataclasses

import numpy as np
import pytest

from interlock.policies.vla.errors import SetupError
from interlock.policies.vla.fit import check_chunk, check_metadata, check_robot
from interlock.policies.vla.preset_files import load_preset
from interlock.policies.vla.robot import StateSpec


@pytest.fixture
def override(tmp_path):
    def load(text, name="openpi/pi05_libero"):
        path = tmp_path / "mine.yml"
        path.write_text(text)
        return load_preset(name, config=path)

    return load


@pytest.mark.parametrize("name", ["interlock/panda", "openpi/droid", "openpi/pi05_libero"])
def test_the_presets_for_a_panda_fit_it(panda, name):
    check_robot(load_preset(name), panda)


def test_a_policy_for_another_robot_is_an_invalid_set_up(panda):
    with pytest.raises(
        SetupError, match=r"invalid set-up, 0 steps.*robot: expected so101, got panda"
    ):
        check_robot(load_preset("gr00t/so101"), panda)


def test_a_generic_preset_without_an_action_map_is_refused(panda):
    with pytest.raises(SetupError, match=r"action\.parts.*--policy-config"):
        check_robot(load_preset("openpi/generic"), panda)


def test_a_camera_the_robot_does_not_have_is_refused_with_its_cameras(panda, override):
    preset = override("cameras: {agentview: frnt}")
    with pytest.raises(SetupError, match="expected frnt, got no such camera; did you mean 'front'"):
        check_robot(preset, panda)


def test_a_state_the_robot_does_not_have_is_refused_with_both_lists(panda):
    other = {f"shoulder_{i}.pos": StateSpec(size=1, unit="deg") for i in range(3)}
    robot = dataclasses.replace(panda, state={**other, "joint_pos": StateSpec(size=7, unit="rad")})
    with pytest.raises(SetupError) as caught:
        check_robot(load_preset("interlock/panda"), robot)
    text = str(caught.value)
    assert "expected joint_position, got no such state; did you mean 'joint_pos'" in text
    assert "the robot has joint_pos, shoulder_0.pos, shoulder_1.pos" in text


def test_everything_wrong_is_listed_at_once(panda, override):
    preset = override("robots: [other]\ncameras: {agentview: nowhere}\naction: {rate_hz: 900}")
    with pytest.raises(SetupError) as caught:
        check_robot(preset, panda)
    assert [m.name for m in caught.value.mismatches] == [
        "robot",
        "camera for 'observation/image'",
        "rate_hz",
    ]


STATE = "observation: {fields: {observation/state: {size: 0, state: [%s]}}}"


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("{field: hand_orientation, unit: '1'}", "the order is never guessed"),
        ("{field: hand_position, unit: m, form: axis_angle}", "it is no rotation"),
        ("{field: hand_position, unit: deg}", "'m' is a length and 'deg' is a angle"),
        ("{field: hand_position, unit: m, pick: [3]}", "pick below 3"),
        ("{field: joint_position, unit: rad, gripper: '1=open, 0=closed'}", "only for a gripper"),
        ("{field: joint_position, unit: rad, scale: [1, 2]}", "scale has 2 values"),
        ("{field: hand_orientation, form: axis_angle, unit: m}", "unit rad or deg"),
    ],
)
def test_a_state_in_another_unit_form_or_size_is_refused(panda, override, part, said):
    with pytest.raises(SetupError, match=said):
        check_robot(override(STATE % part), panda)


def test_a_state_of_eight_where_nine_are_wanted_is_refused(panda, override):
    preset = override("observation: {fields: {observation/state: {size: 9}}}")
    with pytest.raises(SetupError, match="size of 'observation/state': expected 9, got 8"):
        check_robot(preset, panda)


def test_a_column_nobody_uses_is_refused_unless_it_is_ignored_on_purpose(panda, override):
    with pytest.raises(SetupError, match=r"action columns.*missing \[8\]"):
        check_robot(override("action: {width: 9}", "interlock/panda"), panda)
    parts = """
action:
  width: 9
  parts:
    - {target: joints, index: [0, 1, 2, 3, 4, 5, 6], mode: absolute, unit: rad}
    - {target: gripper, index: [7], gripper: "1=open, 0=closed"}
    - {target: ignored, index: [8]}
"""
    check_robot(override(parts, "interlock/panda"), panda)


def test_an_arm_with_another_number_of_joints_is_refused(panda):
    robot = dataclasses.replace(panda, joint_names=panda.joint_names[:6])
    with pytest.raises(SetupError, match="columns of joints: expected 6, got 7"):
        check_robot(load_preset("interlock/panda"), robot)


def test_a_server_that_says_nothing_is_believed():
    check_metadata(load_preset("openpi/pi05_libero"), {"reset_pose": [0.0]})


@pytest.mark.parametrize(
    ("says", "said"),
    [
        ({"action_dim": 32}, r"action_dim: expected 7 \(preset\), got 32 \(server\)"),
        ({"action_horizon": 50}, "action_horizon: expected 10"),
        ({"fps": 10}, "fps: expected 20"),
        ({"rate_hz": float("nan")}, "rate_hz: expected 20"),
        ({"gripper": "1=open, -1=closed"}, "gripper: expected -1=open, 1=closed"),
        ({"observation_keys": ["observation/image", "state"]}, "observation keys: expected state"),
    ],
)
def test_a_server_that_contradicts_the_preset_is_refused(says, said):
    with pytest.raises(SetupError, match=said):
        check_metadata(load_preset("openpi/pi05_libero"), says)


def test_a_server_with_another_quaternion_order_is_refused():
    with pytest.raises(SetupError, match="quaternion order: expected quaternion_xyzw"):
        check_metadata(load_preset("molmoact2/libero"), {"quaternion_order": "wxyz"})


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ((10, 32), "width: expected 7, got 32"),
        ((10, 6), "7, got 6"),
        ((9, 7), "horizon: expected 10, got 9"),
    ],
)
def test_a_first_chunk_of_another_shape_is_refused(shape, said):
    with pytest.raises(SetupError, match=said):
        check_chunk(load_preset("openpi/pi05_libero"), np.zeros(shape))
