"""The checker's own MuJoCo model: the arm's safety envelope among obstacles that can be moved.

Boxes of the hand never meet MuJoCo's box collider, which misses some separated boxes. Each has
a proxy around it, capsule or sphere, that finds what is near; the distance is then measured on
the box itself.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np

from interlock.robots import panda, panda_model
from interlock.robots.geometry import RobotError, check_obstacle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlock.robots.geometry import ObstacleLike
    from interlock.robots.panda import Box

# Collision bits: two geoms meet when one's type is in the other's affinity.
ARM, HAND, OBSTACLE = 1, 2, 4
_HAND_LINKS = ("link7", "hand", "left_finger", "right_finger")
_FINGERS = ("left_finger", "right_finger")
_PREFIX = "obstacle:"
# At an unknown width a finger may be anywhere in its range.
_TRAVEL_M = panda.GRIPPER_WIDTH_RANGE_M[1] / 2


def build_checker_model(obstacles: Sequence[ObstacleLike]) -> Any:
    """Compile the envelope and one mocap body per obstacle.

    Raises:
        RobotError: If an obstacle is not usable or a name is given twice.
    """
    seen: set[str] = set()
    for obstacle in obstacles:
        check_obstacle(obstacle)
        if obstacle.name in seen:
            raise RobotError(f"two obstacles are named {obstacle.name!r}")
        seen.add(obstacle.name)
    arm = panda_model.arm("envelope")
    spec = mujoco.MjSpec.from_string(
        '<mujoco><compiler angle="radian" autolimits="true"/><size memory="8M"/>'
        '<option><flag midphase="disable" multiccd="disable"/></option>'
        f"<worldbody>{arm.body}</worldbody>{arm.rest}</mujoco>"
    )
    _add_proxies(spec)
    for obstacle in obstacles:
        _add_obstacle(spec, obstacle)
    _set_collision_bits(spec)
    return spec.compile()


def obstacle_geom(model: Any, name: str) -> int:
    """Return the geom of an obstacle."""
    return int(model.geom(_PREFIX + name).id)


def exact_geoms(model: Any) -> list[int]:
    """Return, for each geom, the one on which distances are measured."""
    exact = list(range(model.ngeom))
    for link in ("hand", *_FINGERS):
        exact[int(model.geom(f"{link}_proxy").id)] = int(model.geom(f"{link}_0").id)
    return exact


def part_names(model: Any) -> list[str]:
    """Return, for each geom, its link or its obstacle."""
    return [
        str(model.body(int(model.geom_bodyid[geom])).name).removeprefix(_PREFIX)
        for geom in range(model.ngeom)
    ]


def set_finger_shapes(model: Any, data: Any, width_m: float | None) -> None:
    """Place the fingers at an opening; None means anywhere between closed and open."""
    swept = width_m is None
    center, half = panda.FINGER_ENVELOPE.center, panda.FINGER_ENVELOPE.half
    stretch = _TRAVEL_M / 2 if swept else 0.0
    for link, joint in zip(_FINGERS, ("finger_joint1", "finger_joint2"), strict=True):
        geom = int(model.geom(f"{link}_0").id)
        model.geom_size[geom] = (half[0], half[1] + stretch, half[2])
        model.geom_pos[geom] = (center[0], center[1] + stretch, center[2])
        model.geom_rbound[geom] = np.linalg.norm(model.geom_size[geom])
        model.geom_aabb[geom][3:] = model.geom_size[geom]
        data.joint(joint).qpos[0] = 0.0 if width_m is None else width_m / 2


def _add_proxies(spec: Any) -> None:
    hand = panda.HAND_ENVELOPE
    radius = math.hypot(hand.half[0], hand.half[2])
    quarter = (math.sqrt(0.5), -math.sqrt(0.5), 0.0, 0.0)
    spec.body("hand").add_geom(
        name="hand_proxy",
        type=mujoco.mjtGeom.mjGEOM_CAPSULE,
        pos=hand.center,
        quat=quarter,
        size=(radius, hand.half[1], 0.0),
        group=panda_model.ENVELOPE_GROUP,
    )
    for link in _FINGERS:
        center, radius = _finger_sphere(panda.FINGER_ENVELOPE)
        spec.body(link).add_geom(
            name=f"{link}_proxy",
            type=mujoco.mjtGeom.mjGEOM_SPHERE,
            pos=center,
            size=(radius, 0.0, 0.0),
            group=panda_model.ENVELOPE_GROUP,
        )


def _finger_sphere(box: Box) -> tuple[tuple[float, float, float], float]:
    """Return a sphere around a finger box that is swept over the finger's travel."""
    half_y = box.half[1] + _TRAVEL_M / 2
    center = (box.center[0], box.center[1] + _TRAVEL_M / 2, box.center[2])
    return center, math.hypot(box.half[0], half_y, box.half[2])


def _add_obstacle(spec: Any, obstacle: ObstacleLike) -> None:
    world_from_obstacle = np.asarray(obstacle.world_from_obstacle, dtype=np.float64)
    body = spec.worldbody.add_body(
        name=_PREFIX + obstacle.name,
        mocap=True,
        pos=world_from_obstacle[:3],
        quat=world_from_obstacle[3:],
    )
    sizes = list(obstacle.size[:3]) + [0.0] * 3
    if obstacle.shape == "halfspace":
        sizes = [1.0, 1.0, 0.1]
    shape = "plane" if obstacle.shape == "halfspace" else obstacle.shape
    body.add_geom(
        name=_PREFIX + obstacle.name,
        type=getattr(mujoco.mjtGeom, f"mjGEOM_{shape.upper()}"),
        size=sizes[:3],
        contype=OBSTACLE,
        conaffinity=0,
    )


def _set_collision_bits(spec: Any) -> None:
    measured_by_proxy = {f"{link}_0" for link in ("hand", *_FINGERS)}
    for geom in spec.geoms:
        if geom.name.startswith(_PREFIX):
            continue
        link = geom.parent.name
        # The base does not move, so it cannot come nearer to anything but the arm itself.
        affinity = ARM | HAND if link == "link0" else ARM | HAND | OBSTACLE
        kind = HAND if link in _HAND_LINKS else ARM
        if geom.name in measured_by_proxy:
            kind = affinity = 0
        geom.contype, geom.conaffinity = kind, affinity
