"""Servo playback: what the joints follow at an instant of a timed segment.

A segment holds samples at a fixed period; between two samples each joint moves on the quintic
that meets position, velocity and acceleration at both. Before the first sample and after the last
the arm stands. Used alike by the simulator and by drivers of real arms.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from interlock.robots.geometry import RobotError, Vector


@dataclass(frozen=True, slots=True)
class GripperEvent:
    """From an instant on, the gripper goes to a width with at most a force.

    Attributes:
        at_ns: The instant, on the clock of the segment.
        width_m: Distance of the pads, in m.
        force_n: Largest force of each pad, in N.
    """

    at_ns: int
    width_m: float
    force_n: float


class Setpoint(NamedTuple):
    """What to follow at one instant.

    Attributes:
        position: Joint positions, shape (n_joints,), in rad.
        velocity: Joint velocities, shape (n_joints,), in rad/s.
        acceleration: Joint accelerations, shape (n_joints,), in rad/s^2.
        gripper: The latest gripper event that has come, or None.
    """

    position: Vector
    velocity: Vector
    acceleration: Vector
    gripper: GripperEvent | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ServoPlayback:
    """A timed segment, ready to be followed.

    Attributes:
        start_ns: Time of the first sample.
        period_ns: Time from one sample to the next.
        positions: Samples, shape (n_samples, n_joints), in rad.
        velocities: Same shape, in rad/s.
        accelerations: Same shape, in rad/s^2.
        gripper: Gripper events in order of time.
    """

    start_ns: int
    period_ns: int
    positions: Vector
    velocities: Vector
    accelerations: Vector
    gripper: tuple[GripperEvent, ...] = ()
    _pieces: Vector = field(init=False, repr=False)
    _event_times: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _check(self)
        object.__setattr__(self, "_pieces", _quintics(self))
        object.__setattr__(self, "_event_times", tuple(e.at_ns for e in self.gripper))

    @property
    def end_ns(self) -> int:
        """Time of the last sample."""
        return self.start_ns + (len(self.positions) - 1) * self.period_ns

    def at(self, now_ns: int) -> Setpoint:
        """Return what to follow at ``now_ns``."""
        if not self.start_ns <= now_ns < self.end_ns:
            sample = 0 if now_ns < self.start_ns else -1
            rest = np.zeros(self.positions.shape[1])
            return Setpoint(self.positions[sample].copy(), rest, rest.copy(), self.grip(now_ns))
        piece, offset_ns = divmod(now_ns - self.start_ns, self.period_ns)
        t, c = offset_ns * 1e-9, self._pieces[piece]
        position = c[0] + t * (c[1] + t * (c[2] + t * (c[3] + t * (c[4] + t * c[5]))))
        velocity = c[1] + t * (2 * c[2] + t * (3 * c[3] + t * (4 * c[4] + t * 5 * c[5])))
        acceleration = 2 * c[2] + t * (6 * c[3] + t * (12 * c[4] + t * 20 * c[5]))
        return Setpoint(position, velocity, acceleration, self.grip(now_ns))

    def grip(self, now_ns: int) -> GripperEvent | None:
        """Return the latest gripper event that has come by ``now_ns``, or None."""
        index = bisect_right(self._event_times, now_ns)
        return self.gripper[index - 1] if index else None


def _quintics(segment: ServoPlayback) -> Vector:
    """Return coefficients in rising powers of s, shape (n_samples - 1, 6, n_joints)."""
    h = segment.period_ns * 1e-9
    q0, q1 = segment.positions[:-1], segment.positions[1:]
    v0, v1 = segment.velocities[:-1], segment.velocities[1:]
    a0, a1 = segment.accelerations[:-1], segment.accelerations[1:]
    gap = q1 - q0 - h * v0 - h * h / 2 * a0
    rise = v1 - v0 - h * a0
    bend = a1 - a0
    c3 = (10 * gap - 4 * h * rise + h * h / 2 * bend) / h**3
    c4 = (-15 * gap + 7 * h * rise - h * h * bend) / h**4
    c5 = (6 * gap - 3 * h * rise + h * h / 2 * bend) / h**5
    return np.stack([q0, v0, a0 / 2, c3, c4, c5], axis=1)


def _check(segment: ServoPlayback) -> None:
    samples = segment.positions, segment.velocities, segment.accelerations
    shapes = {np.shape(values) for values in samples}
    shape = np.shape(segment.positions)
    if len(shapes) != 1 or len(shape) != 2 or 0 in shape:
        raise RobotError(
            "a segment needs positions, velocities and accelerations of one shape "
            f"(n_samples, n_joints), got {[np.shape(values) for values in samples]}"
        )
    if not all(np.isfinite(values).all() for values in samples):
        raise RobotError("a segment holds a value that is not finite; nothing of it is followed")
    if not segment.period_ns > 0:
        raise RobotError(f"the period of a segment is {segment.period_ns} ns, expected above 0")
    times = [event.at_ns for event in segment.gripper]
    if times != sorted(times):
        raise RobotError(f"gripper events are not in order of time: {times}")
