"""Follow a reference with a motion that keeps the limits of speed, acceleration and jerk.

A cascade of saturated feedbacks from position to speed to acceleration to jerk. Without
saturation it is linear state feedback on the error to the reference, with three equal poles; each
saturation is one limit, and the speed asked for shrinks with the distance so that the arm can
always brake in time. Jerk is constant between samples, which the driver's polynomial reproduces
exactly, so the limits hold between samples as well.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlock.gate.robot import JointLimits

#: Position, velocity and acceleration of every joint.
Sample = tuple[list[float], list[float], list[float]]

#: Three poles at this rate, in 1/s: the lag behind a reference with jerk j is about j / w^3.
POLES_PER_S = 40.0
#: Share of the acceleration limit that braking for the position error may count on.
_BRAKING = 0.5


class Gains(NamedTuple):
    """Position to speed (1/s), speed to acceleration (1/s), acceleration to jerk (1/s)."""

    position: float
    speed: float
    acceleration: float


def gains(h: float) -> Gains:
    """Return the gains that place three poles at ``POLES_PER_S`` for a sample time, in s."""
    pole = math.exp(-POLES_PER_S * h)
    a = np.array([[1.0, h, h * h / 2], [0.0, 1.0, h], [0.0, 0.0, 1.0]])
    b = np.array([h**3 / 6, h * h / 2, h])
    reach = np.column_stack([b, a @ b, a @ a @ b])
    k1, k2, k3 = np.linalg.solve(reach.T, [0.0, 0.0, 1.0]) @ np.linalg.matrix_power(
        a - pole * np.eye(3), 3
    )
    return Gains(k1 / k2, k2 / k3, k3)


class Follower:
    """One sample after another, joint by joint: plain floats are the fastest here."""

    def __init__(self, limits: JointLimits) -> None:
        rows = (limits.velocity, limits.acceleration, limits.jerk)
        self._limits = list(zip(*(row.tolist() for row in rows), strict=True))
        self._gains: dict[float, Gains] = {}

    def step(
        self,
        state: Sample,
        position: Sequence[float],
        velocity: Sequence[float],
        acceleration: Sequence[float],
        h: float,
    ) -> Sample:
        """Return the state one sample later.

        Args:
            state: Position, velocity and acceleration of every joint.
            position: Reference now, in rad.
            velocity: Its speed, in rad/s.
            acceleration: Its acceleration, in rad/s^2.
            h: Time between samples, in s.
        """
        gain = self._gains.get(h) or self._gains.setdefault(h, gains(h))
        half = h / 2
        positions, velocities, accelerations = [], [], []
        joints = zip(*state, position, velocity, acceleration, self._limits, strict=True)
        for q, v, a, q_ref, v_ref, a_ref, limit in joints:
            change = h * _jerk(q_ref - q, v_ref, a_ref, v, a, h, gain, limit)
            positions.append(q + h * (v + half * (a + change / 3)))
            velocities.append(v + h * a + half * change)
            accelerations.append(a + change)
        return positions, velocities, accelerations


def _jerk(
    error: float,
    v_ref: float,
    a_ref: float,
    v: float,
    a: float,
    h: float,
    gain: Gains,
    limit: tuple[float, float, float],
) -> float:
    """Return the jerk for the next sample, in rad/s^3."""
    v_max, a_max, j_max = limit
    correction = gain.position * error
    if correction * correction > 2 * _BRAKING * a_max * abs(error):
        correction = math.copysign(math.sqrt(2 * _BRAKING * a_max * abs(error)), error)
    speed = _clip(v_ref + correction, v_max)
    jerk = gain.acceleration * (_clip(a_ref + gain.speed * (speed - v), a_max) - a)
    # Only as much as leaves speed and acceleration within their limits afterwards.
    high = _largest_jerk(v, a, h, v_max, a_max, j_max)
    low = -_largest_jerk(-v, -a, h, v_max, a_max, j_max)
    if jerk > high:
        jerk = high
    return _clip(jerk if jerk >= low else low, j_max)


def _clip(value: float, most: float) -> float:
    if value > most:
        return most
    return value if value >= -most else -most


def _largest_jerk(v: float, a: float, h: float, v_max: float, a_max: float, j_max: float) -> float:
    # The largest next acceleration x for which speed stays within its limit when the jerk brakes
    # from then on: v + (a + x) h / 2 + x^2 / (2 j) <= v_max.
    room = v_max - v - a * h / 2
    half = j_max * h / 2
    if room < 0:
        return (-a_max - a) / h
    x = math.sqrt(half * half + 2 * j_max * room) - half
    return (min(x, a_max) - a) / h
