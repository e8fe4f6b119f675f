"""The Panda's kinematics against published numbers, against MuJoCo, and against itself."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from interlock.robots import kinematics, panda, panda_model
from interlock.robots.analytic_ik import configurations
from interlock.robots.geometry import RobotError

LOW, HIGH = panda.LIMITS.position_low, panda.LIMITS.position_high
UNIT = st.tuples(*[st.floats(0.02, 0.98)] * 7)


def configuration(share):
    return LOW + (HIGH - LOW) * np.array(share)


def published_forward(position):
    """Craig's matrices, written out as in the textbook."""
    pose = np.eye(4)
    for (a, d, alpha), angle in zip(panda.DH, position, strict=True):
        ct, st_, ca, sa = math.cos(angle), math.sin(angle), math.cos(alpha), math.sin(alpha)
        pose = pose @ np.array(
            [
                [ct, -st_, 0, a],
                [st_ * ca, ct * ca, -sa, -d * sa],
                [st_ * sa, ct * sa, ca, d * ca],
                [0, 0, 0, 1],
            ]
        )
    hand = np.eye(4)
    c = math.sqrt(0.5)
    hand[:2, :2] = [[c, c], [-c, c]]
    hand[2, 3] = 0.107 + 0.1034
    return pose @ hand


@pytest.fixture(scope="module")
def simulated():
    arm = panda_model.arm("body")
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><compiler angle="radian" autolimits="true"/>'
        f"<worldbody>{arm.body}</worldbody>{arm.rest}</mujoco>"
    )


def test_forward_agrees_with_published_dh_and_with_mujoco_to_a_nanometre(simulated):
    rng = np.random.default_rng(1)
    data = mujoco.MjData(simulated)
    for _ in range(300):
        q = rng.uniform(LOW, HIGH)
        expected = published_forward(q)
        data.qpos[:7] = q
        mujoco.mj_kinematics(simulated, data)
        pose = kinematics.forward(q)
        rotation = kinematics.rotation_from_quaternion(pose[3:])
        assert np.abs(pose[:3] - expected[:3, 3]).max() < 1e-9
        assert np.abs(pose[:3] - data.site("tcp").xpos).max() < 1e-9
        assert np.abs(rotation - expected[:3, :3]).max() < 1e-9
        assert np.abs(rotation.ravel() - data.site("tcp").xmat).max() < 1e-9


def test_the_jacobian_is_the_derivative_of_forward():
    q, step = configuration([0.3, 0.6, 0.4, 0.5, 0.7, 0.45, 0.2]), 1e-6
    matrix = kinematics.jacobian(q)
    for joint in range(7):
        moved = q.copy()
        moved[joint] += step
        change = (kinematics.forward(moved) - kinematics.forward(q))[:3] / step
        assert np.abs(change - matrix[:3, joint]).max() < 1e-5


@settings(max_examples=150, deadline=None)
@given(share=UNIT, offset=st.tuples(*[st.floats(-0.3, 0.3)] * 7))
def test_inverse_reaches_what_forward_gave_or_says_it_cannot(share, offset):
    target = kinematics.forward(configuration(share))
    seed = np.clip(configuration(share) + np.array(offset), LOW, HIGH)
    found = kinematics.inverse(target, seed)
    assume(found is not None)
    reached = kinematics.forward(found)
    assert (found >= LOW).all()
    assert (found <= HIGH).all()
    assert np.linalg.norm(reached[:3] - target[:3]) < 2e-5
    assert abs(abs(reached[3:] @ target[3:]) - 1) < 1e-7


@pytest.mark.parametrize("near", [True, False])
def test_inverse_solves_nearly_every_reachable_pose_from_near_and_from_home(near):
    rng = np.random.default_rng(2)
    solved = 0
    for _ in range(200):
        q = rng.uniform(LOW + 0.02, HIGH - 0.02)
        seed = np.clip(q + rng.uniform(-0.3, 0.3, 7), LOW, HIGH) if near else panda.HOME
        solved += kinematics.inverse(kinematics.forward(q), seed) is not None
    assert solved >= 196


def test_the_closed_form_finds_every_configuration_it_is_asked_for():
    rng = np.random.default_rng(7)
    for _ in range(200):
        q = rng.uniform(LOW, HIGH)
        target = kinematics.forward(q)
        rotation = kinematics.rotation_from_quaternion(target[3:])
        found = configurations(target[:3], rotation, q[6:])
        assert np.abs(found - q).max(axis=1).min() < 1e-6
        for other in found:
            assert np.abs(kinematics.forward(other)[:3] - target[:3]).max() < 1e-8


def test_inverse_solves_every_pose_from_above_over_the_table():
    rng = np.random.default_rng(3)
    for _ in range(100):
        yaw = rng.uniform(-1, 1)
        place = rng.uniform([0.3, -0.35, 0.03], [0.65, 0.35, 0.4])
        target = np.array([*place, 0, math.cos(yaw / 2), math.sin(yaw / 2), 0])
        assert kinematics.inverse(target, panda.HOME) is not None


def test_a_pose_out_of_reach_has_no_inverse():
    assert kinematics.inverse(np.array([1.5, 0, 0.5, 0, 1, 0, 0]), panda.HOME) is None


def test_a_pose_that_is_not_a_number_is_refused():
    with pytest.raises(RobotError, match="finite"):
        kinematics.inverse(np.array([np.nan, 0, 0.5, 0, 1, 0, 0]), panda.HOME)


def test_no_point_of_the_arm_is_faster_than_the_bound(simulated):
    rng = np.random.default_rng(4)
    data = mujoco.MjData(simulated)
    for _ in range(50):
        q = rng.uniform(LOW, HIGH)
        velocity = rng.uniform(-1, 1, 7) * panda.LIMITS.velocity
        corners = []
        for instant in (q, q + 1e-6 * velocity):
            data.qpos[:7], data.qpos[7:9] = instant, 0.04
            mujoco.mj_kinematics(simulated, data)
            corners.append(_box_corners(simulated, data))
        fastest = np.linalg.norm(corners[1] - corners[0], axis=1).max() / 1e-6
        assert fastest <= kinematics.fastest_point_speed(q, velocity) + 1e-4
        assert kinematics.tool_speed(q, velocity) <= fastest + 1e-4


def _box_corners(model, data):
    signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
    boxes = [g for g in range(model.ngeom) if int(model.geom_type[g]) == mujoco.mjtGeom.mjGEOM_BOX]
    return np.concatenate(
        [
            data.geom_xpos[g] + (signs * model.geom_size[g]) @ data.geom_xmat[g].reshape(3, 3).T
            for g in boxes
        ]
    )
