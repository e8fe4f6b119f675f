"""What the Gate asks of a robot. `robots/` implements it; the Gate never imports a simulator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

Shape = Literal["box", "sphere", "cylinder", "capsule", "halfspace"]


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Obstacle:
    """Something the robot must stay clear of.

    Attributes:
        name: Name in verdicts, e.g. ``"table"`` or ``"cup_blue"``.
        shape: box (half sizes), sphere (radius), cylinder and capsule (radius, half length along
            z), halfspace (its solid side is -z of its pose).
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
        part: Link of the robot, e.g. ``"hand"`` or ``"left_finger"``.
        other: Name of the obstacle, or of the other link for a self-proximity.
    """

    distance_m: float
    part: str
    other: str


class RobotModel(Protocol):
    """Geometry and limits of one arm, used by the checks. One instance per Gate, not shared."""

    joint_names: tuple[str, ...]
    limits: JointLimits
    gripper_width_range_m: tuple[float, float]

    def forward(self, position: Vector) -> Vector:
        """Return world_from_tool, shape (7,), for joint positions of shape (n_joints,), in rad."""

    def inverse(self, world_from_tool: Vector, seed: Vector) -> Vector | None:
        """Return verified joint positions near ``seed`` that reach a pose; None if none."""

    def tool_speed(self, position: Vector, velocity: Vector) -> float:
        """Return the speed of the tool point, in m/s."""

    def fastest_point_speed(self, position: Vector, velocity: Vector) -> float:
        """Return an upper bound on the speed of any point of the robot, in m/s."""

    def set_obstacles(self, obstacles: Sequence[Obstacle]) -> None:
        """Declare every obstacle. May be slow; poses alone are changed with ``move_obstacle``."""

    def move_obstacle(self, name: str, world_from_obstacle: Vector) -> None:
        """Move one declared obstacle; allocates nothing."""

    def hold(self, name: str | None) -> None:
        """Say which obstacle the gripper holds: it then moves with the hand and touches it freely.

        Its pose relative to the tool is taken at the latest ``forward``/``proximities`` position
        given to ``hold_at``; None releases it where it is.
        """

    def hold_at(self, position: Vector) -> None:
        """Set the joint positions at which ``hold`` attaches or releases."""

    def proximities(self, position: Vector, within_m: float) -> Sequence[Proximity]:
        """Return every pair (robot part, obstacle) and self pair closer than ``within_m``.

        Args:
            position: Joint positions, shape (n_joints,), in rad.
            within_m: Only pairs closer than this are returned, in m.
        """
