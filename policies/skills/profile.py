"""Jerk-limited motion of some axes from any state to a goal, as a function of time (Ruckig)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import ruckig

from interlock.policies.errors import SkillError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AxisLimits:
    """Largest speed, acceleration and jerk per axis, each of shape (n,), in unit/s, /s^2, /s^3."""

    velocity: Vector
    acceleration: Vector
    jerk: Vector

    def scaled(self, factor: float) -> AxisLimits:
        """Return the limits for a motion that takes ``1 / factor`` times as long."""
        return AxisLimits(
            velocity=self.velocity * factor,
            acceleration=self.acceleration * factor**2,
            jerk=self.jerk * factor**3,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Motion:
    """Where the axes are at one time: position, velocity, acceleration, each of shape (n,)."""

    position: Vector
    velocity: Vector
    acceleration: Vector


class Profile:
    """A motion that begins at ``start_ns`` in ``begin`` and ends at rest in ``goal``."""

    def __init__(
        self, *, start_ns: int, begin: Motion, goal: Vector, limits: AxisLimits, in_step: bool
    ) -> None:
        self.start_ns, self.goal = start_ns, goal
        axes = len(goal)
        ask = ruckig.InputParameter(axes)
        ask.current_position = begin.position.tolist()
        ask.current_velocity = begin.velocity.tolist()
        ask.current_acceleration = begin.acceleration.tolist()
        ask.target_position = goal.tolist()
        ask.max_velocity = limits.velocity.tolist()
        ask.max_acceleration = limits.acceleration.tolist()
        ask.max_jerk = limits.jerk.tolist()
        self._trajectory: Any = ruckig.Trajectory(axes)
        first = ruckig.Synchronization.Phase if in_step else ruckig.Synchronization.No
        for synchronization in (first, ruckig.Synchronization.Time, ruckig.Synchronization.No):
            ask.synchronization = synchronization
            if _calculated(ask, self._trajectory, axes):
                break
        else:
            raise SkillError(
                f"no motion from {begin.position} at {begin.velocity} with {begin.acceleration} "
                f"to {goal}"
            )
        self.end_ns = start_ns + int(self._trajectory.duration * 1e9) + 1

    def at(self, time_ns: int) -> Motion:
        """Return where the axes are at a time; at rest in the goal after the end."""
        seconds = min(max(0.0, (time_ns - self.start_ns) / 1e9), self._trajectory.duration)
        position, velocity, acceleration = self._trajectory.at_time(seconds)
        return Motion(
            position=np.array(position),
            velocity=np.array(velocity),
            acceleration=np.array(acceleration),
        )


def _calculated(ask: Any, trajectory: Any, axes: int) -> bool:
    """Let Ruckig plan; False when it finds nothing.

    It fails now and then from a state at odds with the limits; its Python binding then raises
    ValueError for error codes that it has no name for.
    """
    try:
        result = ruckig.Ruckig(axes).calculate(ask, trajectory)
    except ValueError:
        return False
    return result in (ruckig.Result.Working, ruckig.Result.Finished)
