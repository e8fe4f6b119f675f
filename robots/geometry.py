"""Limits, obstacles and distances of an arm: what a robot model says to whoever checks motions.

The Gate states the same shapes as its own protocol; these are structurally equal, because
robots do not import the Gate. Anything with the same attributes is accepted as an obstacle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from interlock.messages.errors import InterlockError

if TYPE_CHECKING:
    from collections.abc import Sequence

Vector = NDArray[np.float64]
Shape = Literal["box", "sphere", "cylinder", "capsule", "halfspace"]

SIZES_PER_SHAPE = {"box": 3, "sphere": 1, "cylinder": 2, "capsule": 2, "halfspace": 0}


class RobotError(InterlockError, ValueError):
    """A robot, scene or camera that was asked for something it cannot do."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JointLimits:
    """Limits of every joint, in joint order, each of shape (n_joints,).

    Attributes:
        position_low: Smallest joint position, in rad.
        position_high: Largest joint position, in rad.
        velocity: Largest speed, in rad/s.
        acceleration: Largest acceleration, in rad/s^2.
        jerk: Largest jerk, in rad/s^3.
    """

    position_low: Vector
    position_high: Vector
    velocity: Vector
    acceleration: Vector
    jerk: Vector


class ObstacleLike(Protocol):
    """What is read of an obstacle: the Gate's own obstacles have it too."""

    @property
    def name(self) -> str:
        """Name in verdicts."""

    @property
    def shape(self) -> Shape:
        """One of the shapes of ``Obstacle``."""

    @property
    def size(self) -> tuple[float, ...]:
        """Sizes of the shape, in m."""

    @property
    def world_from_obstacle(self) -> Vector:
        """Pose, shape (7,)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Obstacle:
    """Something the robot must stay clear of.

    Attributes:
        name: Name in verdicts, e.g. ``"table"`` or ``"cup_blue"``.
        shape: box (half sizes), sphere (radius), cylinder and capsule (radius, half length along
            z), halfspace (no size; its solid side is -z of its pose).
        size: Sizes of the shape, in m, as above.
        world_from_obstacle: Pose, shape (7,): x, y, z in m, then quaternion w, x, y, z.
    """

    name: str
    shape: Shape
    size: tuple[float, ...]
    world_from_obstacle: Vector


@dataclass(frozen=True, slots=True)
class Proximity:
    """The distance between one part of the robot and one other thing.

    Attributes:
        distance_m: Smallest distance, in m; negative when they overlap.
        part: Link of the robot, e.g. ``"hand"``, or the object that it holds.
        other: Name of the obstacle, or of the other link for a self-proximity.
    """

    distance_m: float
    part: str
    other: str


def pose(position: Sequence[float], quaternion: Sequence[float] = (1.0, 0.0, 0.0, 0.0)) -> Vector:
    """Return a pose of shape (7,) from x, y, z in m and a quaternion w, x, y, z."""
    return np.array([*position, *quaternion], dtype=np.float64)


def check_obstacle(obstacle: ObstacleLike) -> None:
    """Refuse an obstacle whose shape, sizes or pose cannot be used.

    Raises:
        RobotError: Naming the obstacle, what was given and what is expected.
    """
    count = SIZES_PER_SHAPE.get(obstacle.shape)
    if count is None:
        known = ", ".join(SIZES_PER_SHAPE)
        raise RobotError(f"obstacle {obstacle.name!r}: shape {obstacle.shape!r} is not of {known}")
    sizes = obstacle.size[:count]
    if len(sizes) < count or not all(0.0 < size < np.inf for size in sizes):
        raise RobotError(
            f"obstacle {obstacle.name!r}: a {obstacle.shape} needs {count} positive sizes in m, "
            f"got {obstacle.size}"
        )
    check_pose(obstacle.name, obstacle.world_from_obstacle)


def check_pose(name: str, world_from_thing: Vector) -> None:
    """Refuse a pose that is not finite or not of shape (7,) with a unit quaternion.

    Raises:
        RobotError: Naming the thing and what was given.
    """
    value = np.asarray(world_from_thing, dtype=np.float64)
    if value.shape != (7,) or not np.isfinite(value).all():
        raise RobotError(f"{name!r}: a pose is 7 finite numbers (x y z, w x y z), got {value}")
    norm = float(np.linalg.norm(value[3:]))
    if not 0.99 < norm < 1.01:
        raise RobotError(f"{name!r}: the quaternion (w x y z) has length {norm:.3f}, expected 1")
