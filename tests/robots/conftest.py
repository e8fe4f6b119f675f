"""Motions of the simulated arm for tests: smooth joint moves, a grasp from above."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from interlock.robots import kinematics, panda
from interlock.robots.scene import build_scene
from interlock.robots.scene_settings import shipped_scene
from interlock.robots.world import SimWorld


def world(name="tabletop", seed=3):
    return SimWorld(build_scene(shipped_scene(name), seed))


def from_above(x, y, z, yaw=0.0):
    return np.array([x, y, z, 0.0, math.cos(yaw / 2), math.sin(yaw / 2), 0.0])


def move(sim, start, goal, duration_s):
    """Follow a minimum-jerk profile from one configuration to another."""
    steps = round(duration_s / sim.timestep_s)
    for step in range(1, steps + 1):
        s = step / steps
        share = s**3 * (10 - 15 * s + 6 * s * s)
        rate = 30 * s * s * (1 - s) ** 2 / duration_s
        sim.set_servo(start + (goal - start) * share, (goal - start) * rate)
        sim.step()
    return goal


def lift(sim, name, height_m=0.3, grasp_z_m=None):
    """Grasp an object from above and lift it; return the final configuration."""
    x, y, z = sim.object_pose(name)[:3]
    z = z if grasp_z_m is None else grasp_z_m
    above = kinematics.inverse(from_above(x, y, z + 0.12), panda.HOME)
    q = move(sim, panda.HOME, above, 1.2)
    q = move(sim, q, kinematics.inverse(from_above(x, y, z), q), 0.8)
    sim.set_gripper(0.0)
    sim.step(250)
    return move(sim, q, kinematics.inverse(from_above(x, y, height_m), q), 1.0)


def in_tool(sim, name):
    """Position of an object in the tool frame, in m."""
    tool = sim.tool_pose
    rotation = kinematics.rotation_from_quaternion(tool[3:])
    return rotation.T @ (sim.object_pose(name)[:3] - tool[:3])


@pytest.fixture(scope="session")
def moves():
    """The functions of this file."""
    return SimpleNamespace(
        world=world, from_above=from_above, move=move, lift=lift, in_tool=in_tool
    )
