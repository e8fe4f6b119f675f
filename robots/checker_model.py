"""The checker's own MuJoCo model: the arm's safety envelope among obstacles that can be moved.

Boxes are built as convex meshes. MuJoCo's box colliders are made for contact, not for distance:
that of capsule and box calls a capsule that goes right through a thin box clear, and that of two
boxes misses some that are apart. The convex solver, which meshes go to, gets both right.
"""

from __future__ import annotations

from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.robots import panda, panda_model
from interlock.robots.geometry import RobotError, check_obstacle
from interlock.robots.physics import mujoco

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlock.robots.geometry import ObstacleLike, Vector

FINGERS = ("left_finger", "right_finger")
SWEPT = "_swept"
_PREFIX = "obstacle:"
_CORNERS = np.array(list(product((-1.0, 1.0), repeat=3)))
_ARM_LINKS = frozenset(f"link{i}" for i in range(1, 7))
_NEIGHBOURS = frozenset(frozenset(pair) for pair in panda.NEIGHBOURS)
_TRAVEL_M = panda.GRIPPER_WIDTH_RANGE_M[1] / 2
_TYPES = {
    "sphere": mujoco.mjtGeom.mjGEOM_SPHERE,
    "cylinder": mujoco.mjtGeom.mjGEOM_CYLINDER,
    "capsule": mujoco.mjtGeom.mjGEOM_CAPSULE,
    "halfspace": mujoco.mjtGeom.mjGEOM_PLANE,
}


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
        '<mujoco><compiler angle="radian" autolimits="true"/>'
        f"<worldbody>{arm.body}</worldbody>{arm.rest}</mujoco>"
    )
    for geom in spec.geoms:
        if int(geom.type) == mujoco.mjtGeom.mjGEOM_BOX:
            _use_mesh(spec, geom, geom.name, np.array(geom.size))
    _add_swept_fingers(spec)
    for obstacle in obstacles:
        _add_obstacle(spec, obstacle)
    return spec.compile()


def obstacle_geom(model: Any, name: str) -> int:
    """Return the geom of an obstacle."""
    return int(model.geom(_PREFIX + name).id)


def part_names(model: Any) -> list[str]:
    """Return, for each geom, its link or its obstacle."""
    return [
        str(model.body(int(model.geom_bodyid[geom])).name).removeprefix(_PREFIX)
        for geom in range(model.ngeom)
    ]


def robot_geoms(model: Any, *, swept: bool) -> list[int]:
    """Return the geoms of the arm and hand, with fingers swept over their travel or not."""
    geoms = []
    for geom in range(model.ngeom):
        name = str(model.geom(geom).name)
        if name.startswith(_PREFIX):
            continue
        of_finger = name.startswith(FINGERS)
        if not of_finger or name.endswith(SWEPT) == swept:
            geoms.append(geom)
    return geoms


def watched_pairs(
    model: Any, obstacles: Sequence[int], held: int | None, *, swept: bool
) -> list[tuple[int, int]]:
    """Return the pairs of geoms that may not touch, in a fixed order.

    Args:
        model: The checker's model.
        obstacles: Geoms of the obstacles that are not held.
        held: Geom of what the gripper holds; it may touch hand, fingers and link 7.
        swept: Whether the fingers may be anywhere in their range.
    """
    parts, robot = part_names(model), robot_geoms(model, swept=swept)
    # The base is fixed, so it cannot come nearer to anything but the arm itself.
    pairs = [(r, o) for r in robot if parts[r] != "link0" for o in obstacles]
    pairs += [
        (a, b)
        for a, b in combinations(robot, 2)
        if parts[a] != parts[b] and frozenset((parts[a], parts[b])) not in _NEIGHBOURS
    ]
    if held is not None:
        arm = [geom for geom in robot if parts[geom] in _ARM_LINKS]
        pairs += [(held, geom) for geom in (*obstacles, *arm)]
    return pairs


def half_extents(model: Any) -> Vector:
    """Return half sizes of the box around each geom in its own frame, shape (n, 3), in m."""
    half: Vector = np.array(model.geom_aabb[:, 3:])
    half[np.array(model.geom_type) == int(mujoco.mjtGeom.mjGEOM_PLANE)] = 1e3
    return half


def _add_swept_fingers(spec: Any) -> None:
    """Add what a closed finger would fill on its way to open."""
    center, half = panda.FINGER_ENVELOPE.center, panda.FINGER_ENVELOPE.half
    for link in FINGERS:
        geom = spec.body(link).add_geom(
            name=link + SWEPT, pos=(center[0], center[1] + _TRAVEL_M / 2, center[2])
        )
        _use_mesh(spec, geom, geom.name, np.array((half[0], half[1] + _TRAVEL_M / 2, half[2])))


def _add_obstacle(spec: Any, obstacle: ObstacleLike) -> None:
    name = _PREFIX + obstacle.name
    world_from_obstacle = np.asarray(obstacle.world_from_obstacle, dtype=np.float64)
    body = spec.worldbody.add_body(
        name=name, mocap=True, pos=world_from_obstacle[:3], quat=world_from_obstacle[3:]
    )
    geom = body.add_geom(name=name)
    if obstacle.shape == "box":
        _use_mesh(spec, geom, name, np.array(obstacle.size[:3]))
        return
    geom.type = _TYPES[obstacle.shape]
    sizes = obstacle.size if obstacle.shape != "halfspace" else (1.0, 1.0, 0.1)
    geom.size = [*sizes, 0.0, 0.0, 0.0][:3]


def _use_mesh(spec: Any, geom: Any, name: str, half: Any) -> None:
    mesh = spec.add_mesh(name=name)
    mesh.uservert = (_CORNERS * half).ravel()
    geom.type = mujoco.mjtGeom.mjGEOM_MESH
    geom.meshname = name
    geom.size = [0.0, 0.0, 0.0]
