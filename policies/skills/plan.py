"""The arm's motion as a skill plans it ahead of what the Gate has admitted: joints over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from interlock.policies.errors import UnreachableError
from interlock.policies.skills.poses import nearest_turn, tool_down, yaw_of
from interlock.policies.skills.profile import AxisLimits, Motion, Profile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlock.messages import RobotState
    from interlock.policies.arm import Arm

    Vector = NDArray[np.float64]

#: Tool speed (m/s), acceleration (m/s^2), jerk (m/s^3) along x, y, z; then rad for the turn.
LINE_LIMITS = AxisLimits(
    velocity=np.array([0.6, 0.6, 0.6, 2.0]),
    acceleration=np.array([2.0, 2.0, 1.5, 8.0]),
    jerk=np.array([22.0, 22.0, 18.0, 80.0]),
)
#: Fractions of the arm's own joint limits.
JOINT_SHARE = (0.7, 0.3, 0.02)
#: A joint that moves more than this within one row has changed to another branch.
MAX_JUMP_RAD = 0.15
_DIFFERENCE_NS = 10_000_000


class Plan(Protocol):
    """Joint positions over time."""

    @property
    def end_ns(self) -> int:
        """When it is at rest in its goal, in ns."""

    @property
    def goal(self) -> Vector:
        """Where it ends, in its own axes."""

    def joints_at(self, time_ns: int, seed: Vector) -> Vector:
        """Return joint positions, shape (n_joints,), in rad."""


class CoastPlan:
    """Go on as commanded for the short time until a plan takes over."""

    def __init__(self, state: RobotState, observed_ns: int) -> None:
        self.goal, self.end_ns = state.commanded_position, observed_ns
        self._state, self._observed_ns = state, observed_ns

    def motion_at(self, time_ns: int) -> Motion:
        """Return the commanded state, carried forward; a joint that brakes ends at rest."""
        s, state = (time_ns - self._observed_ns) / 1e9, self._state
        speed, change = state.commanded_velocity, state.commanded_acceleration
        brakes = speed * change < 0
        until_rest = np.where(brakes, np.abs(speed) / np.maximum(np.abs(change), 1e-9), np.inf)
        t = np.minimum(s, until_rest)
        rests = t < s
        return Motion(
            position=state.commanded_position + speed * t + change * t * t / 2,
            velocity=np.where(rests, 0.0, speed + change * t),
            acceleration=np.where(rests, 0.0, change),
        )

    def joints_at(self, time_ns: int, seed: Vector) -> Vector:
        """Return the joint positions at a time."""
        return self.motion_at(time_ns).position


class JointPlan:
    """All joints to a goal, jerk-limited and in step."""

    def __init__(
        self, arm: Arm, begin: Motion, goal: Vector, *, start_ns: int, speed: float
    ) -> None:
        limits = AxisLimits(
            velocity=arm.limits.velocity * JOINT_SHARE[0],
            acceleration=arm.limits.acceleration * JOINT_SHARE[1],
            jerk=arm.limits.jerk * JOINT_SHARE[2],
        ).scaled(speed)
        self.profile = Profile(
            start_ns=start_ns, begin=begin, goal=goal, limits=limits, in_step=True
        )
        self.goal, self.end_ns = goal, self.profile.end_ns

    def joints_at(self, time_ns: int, seed: Vector) -> Vector:
        """Return joint positions at a time."""
        return self.profile.at(time_ns).position


class LinePlan:
    """The downward tool along x, y, z and its turn to a goal, jerk-limited.

    Attributes:
        goal: x, y, z in m and the turn in rad.
    """

    def __init__(
        self, arm: Arm, begin: Motion, goal: Vector, *, start_ns: int, speed: float
    ) -> None:
        self._arm = arm
        self.profile = Profile(
            start_ns=start_ns,
            begin=begin,
            goal=goal,
            limits=LINE_LIMITS.scaled(speed),
            in_step=True,
        )
        self.goal, self.end_ns = goal, self.profile.end_ns

    def joints_at(self, time_ns: int, seed: Vector) -> Vector:
        """Return joint positions at a time, near ``seed``.

        Raises:
            UnreachableError: If no joint positions near ``seed`` reach the point.
        """
        found = self.joints_about(time_ns, seed)
        if not float(np.abs(found - seed).max()) <= MAX_JUMP_RAD:
            raise self._unreachable(time_ns)
        return found

    def joints_about(self, time_ns: int, seed: Vector) -> Vector:
        """Return joint positions at a time, however far from ``seed``."""
        place = self.profile.at(time_ns).position
        found = self._arm.inverse(tool_down(place, place[3]), seed)
        if found is None:
            raise self._unreachable(time_ns)
        return found

    def _unreachable(self, time_ns: int) -> UnreachableError:
        x, y, z = self.profile.at(time_ns).position[:3]
        return UnreachableError(
            f"the arm can't go on through x {x:.3f}, y {y:.3f}, z {z:.3f} m, tool down; "
            "choose a target nearer to the middle of its workspace"
        )


def joint_motion(plan: Plan, time_ns: int, seed: Vector) -> Motion:
    """Return the joints' position, velocity and acceleration of a plan at a time."""
    if isinstance(plan, JointPlan):
        return plan.profile.at(time_ns)
    if isinstance(plan, CoastPlan):
        return plan.motion_at(time_ns)
    now = plan.joints_at(time_ns, seed)
    before = plan.joints_at(time_ns - _DIFFERENCE_NS, now)
    after = plan.joints_at(time_ns + _DIFFERENCE_NS, now)
    return _differences(before, now, after)


def line_motion(arm: Arm, plan: Plan, time_ns: int, seed: Vector) -> Motion:
    """Return x, y, z and turn of the tool, with velocity and acceleration, of a plan at a time."""
    if isinstance(plan, LinePlan):
        return plan.profile.at(time_ns)
    joints = joint_motion(plan, time_ns, seed)
    step = _DIFFERENCE_NS / 1e9
    speed, half = joints.velocity * step, joints.acceleration * step * step / 2
    now = line_axes(arm.forward(joints.position))
    before = line_axes(arm.forward(joints.position - speed + half), now[3])
    after = line_axes(arm.forward(joints.position + speed + half), now[3])
    return _differences(before, now, after)


def line_axes(pose: Vector, near_rad: float = 0.0) -> Vector:
    """Return x, y, z and the turn of a downward tool pose, the turn close to another."""
    return np.array([*pose[:3], nearest_turn(yaw_of(pose), near_rad, 2 * np.pi)])


def _differences(before: Vector, now: Vector, after: Vector) -> Motion:
    step = _DIFFERENCE_NS / 1e9
    velocity = (after - before) / (2 * step)
    acceleration = (after - 2 * now + before) / step**2
    return Motion(position=now, velocity=velocity, acceleration=acceleration)
