"""The Menagerie Panda moves as ours does. Needs the user's model: INTERLOCK_MENAGERIE=PATH."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from interlock.robots import kinematics, panda
from interlock.robots.checker import PandaChecker
from interlock.robots.geometry import RobotError
from interlock.robots.menagerie import find_menagerie
from interlock.robots.physics import mujoco
from interlock.robots.scene import build_scene, scene_obstacles
from interlock.robots.scene_settings import shipped_scene
from interlock.robots.world import SimWorld


@pytest.fixture(scope="module")
def sim():
    settings = dataclasses.replace(shipped_scene("tabletop"), arm="menagerie")
    try:
        return SimWorld(build_scene(settings, seed=3))
    except RobotError as absent:
        pytest.skip(str(absent))


def test_it_has_our_joints_in_our_order_with_our_limits(sim):
    ranges = sim.model.jnt_range[:7]
    assert tuple(sim.model.joint(i).name for i in range(7)) == panda.JOINT_NAMES
    assert np.allclose(ranges[:, 0], panda.LIMITS.position_low)
    assert np.allclose(ranges[:, 1], panda.LIMITS.position_high)


def test_its_tool_is_where_our_kinematics_says(sim):
    rng = np.random.default_rng(1)
    for _ in range(50):
        q = rng.uniform(panda.LIMITS.position_low, panda.LIMITS.position_high)
        sim.data.qpos[:7] = q
        mujoco.mj_kinematics(sim.model, sim.data)
        assert np.abs(sim.tool_pose[:3] - kinematics.forward(q)[:3]).max() < 1e-6


def test_it_lifts_a_cup(sim, moves):
    sim.reset(3)
    moves.lift(sim, "cup_red")
    assert sim.object_pose("cup_red")[2] > 0.2
    assert sim.forces.held() == ("cup_red",)


def test_the_envelope_encloses_its_meshes(sim):
    settings = shipped_scene("tabletop")
    checker = PandaChecker(scene_obstacles(settings, sim.scene.layout))
    rng = np.random.default_rng(2)
    deepest_missed = touching = 0
    for _ in range(300):
        sim.data.qpos[:7] = rng.uniform(panda.LIMITS.position_low, panda.LIMITS.position_high)
        mujoco.mj_kinematics(sim.model, sim.data)
        mujoco.mj_collision(sim.model, sim.data)
        near = {frozenset((p.part, p.other)) for p in checker.proximities(sim.position, 0.002)}
        for contact in sim.data.contact:
            bodies = {sim.model.body(int(sim.model.geom_bodyid[g])).name for g in contact.geom}
            if "table" in bodies and bodies & {f"link{i}" for i in range(1, 8)} | {"hand"}:
                touching += 1
                if frozenset(bodies) not in near:
                    deepest_missed = max(deepest_missed, -contact.dist)
    assert touching > 20
    assert deepest_missed < 0.002


def test_without_a_model_it_says_how_to_get_one(tmp_path):
    with pytest.raises(RobotError, match="Give the path of a checkout in INTERLOCK_MENAGERIE"):
        find_menagerie(tmp_path)


def test_another_robot_is_refused(tmp_path):
    (tmp_path / "panda.xml").write_text(
        "<mujoco><worldbody><body name='base'/></worldbody></mujoco>"
    )
    with pytest.raises(RobotError, match="has no body 'link0'"):
        find_menagerie(tmp_path).arm()


def test_other_limits_are_refused(tmp_path):
    joints = "".join(
        f"<body name='link{i}'><joint name='joint{i}' range='-1 1'/>" for i in range(1, 8)
    )
    text = f"<mujoco><worldbody><body name='link0'>{joints}{'</body>' * 8}</worldbody></mujoco>"
    (tmp_path / "panda.xml").write_text(text)
    with pytest.raises(RobotError, match=r"joint1 has range .* expected -2.8973"):
        find_menagerie(tmp_path).arm()
