"""Joins skills to the robot they move: kinematics from `robots/`, and what a scene file says."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from interlock.policies.skills.known import Place, Thing
from interlock.robots import kinematics, panda
from interlock.robots.scene import scene_fixtures

if TYPE_CHECKING:
    from interlock.policies.runtime import Runtime
    from interlock.robots.geometry import JointLimits, Vector
    from interlock.robots.scene_settings import ObjectSettings, SceneSettings


@dataclass(frozen=True, slots=True)
class PandaArm:
    """The Panda as skills see it."""

    limits: JointLimits
    home: Vector
    open_width_m: float

    def forward(self, position: Vector) -> Vector:
        """Return world_from_tool, shape (7,)."""
        return kinematics.forward(position)

    def inverse(self, world_from_tool: Vector, seed: Vector) -> Vector | None:
        """Return joint positions near ``seed`` that reach a pose, or None."""
        return kinematics.inverse(world_from_tool, seed)


def panda_arm() -> PandaArm:
    """Return the Panda."""
    return PandaArm(panda.LIMITS, panda.HOME, panda.GRIPPER_WIDTH_RANGE_M[1])


def know_scene(runtime: Runtime, settings: SceneSettings) -> None:
    """Tell a runtime the places and the shapes of objects of a scene."""
    for fixture in scene_fixtures(settings):
        x, y, z = (float(v) for v in fixture.world_from_obstacle[:3])
        hx, hy, hz = fixture.size
        runtime.places[fixture.name] = Place(top_m=(x, y, z + hz), half_m=(hx, hy))
    for item in settings.objects:
        runtime.things[item.name] = _thing(item)


def _thing(item: ObjectSettings) -> Thing:
    if item.shape == "box":
        square = math.isclose(item.size_m[0], item.size_m[1], rel_tol=0.2)
        period = math.pi / 2 if square else math.pi
        return Thing(
            half_height_m=item.size_m[2], width_m=2 * item.size_m[0], turn_period_rad=period
        )
    return Thing(half_height_m=item.size_m[-1], width_m=2 * item.size_m[0])
