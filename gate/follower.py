"""Follow a reference with a motion that keeps the limits of speed, acceleration and jerk.

A cascade of saturated feedbacks from position to speed to acceleration to jerk. Without
saturation it is linear state feedback on the error to the reference, with three equal poles; each
saturation is one limit, and the speed asked for shrinks with the distance so that the arm can
always brake in time. Jerk is constant between samples, which the driver's polynomial reproduces
exactly, so the limits hold between samples as well.

Most motions reach no limit, and then all joints are followed at once by one matrix per sample; from
where a limit would be reached, joint by joint.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlock.gate.robot import JointLimits
    from interlock.messages.columns import Matrix, Vector

#: Position, velocity and acceleration of every joint.
Sample = tuple[list[float], list[float], list[float]]

#: Three poles at this rate, in 1/s: the lag behind a reference with jerk j is about j / w^3.
POLES_PER_S = 40.0
#: Share of the acceleration limit that braking for the position error may count on.
_BRAKING = 0.5
#: Samples followed joint by joint before trying all joints at once again.
_SATURATED_SAMPLES = 4
#: Samples followed with all joints at once, at first and at most.
_TOGETHER = 16
_MOST_TOGETHER = 128


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


class Loop(NamedTuple):
    """The closed loop without saturation: state of one joint after a sample, shape (3, n)."""

    gains: Gains
    feedback: Matrix
    input: Vector


def closed_loop(h: float) -> Loop:
    """Return the loop for a sample time, in s."""
    gain = gains(h)
    kp, kv, ka = gain
    b = np.array([h**3 / 6, h * h / 2, h])
    a = np.array([[1.0, h, h * h / 2], [0.0, 1.0, h], [0.0, 0.0, 1.0]])
    return Loop(gain, a - np.outer(b, [ka * kv * kp, ka * kv, ka]), b)


class Reference(NamedTuple):
    """Where the arm is asked to be, per sample, each of shape (n_samples, n_joints)."""

    position: Matrix
    velocity: Matrix
    acceleration: Matrix


class Follower:
    """Follows references within the limits of one robot."""

    def __init__(self, limits: JointLimits) -> None:
        rows = (limits.velocity, limits.acceleration, limits.jerk)
        self._rates = limits
        self._limits = list(zip(*(row.tolist() for row in rows), strict=True))
        self._loops: dict[float, Loop] = {}

    def follow(self, state: Matrix, reference: Reference, h: float) -> Matrix:
        """Return the states after each sample, shape (n_samples, 3, n_joints).

        Args:
            state: Position, velocity and acceleration, shape (3, n_joints).
            reference: Where to be at the beginning of each sample.
            h: Time between samples, in s.
        """
        loop = self._loops.get(h) or self._loops.setdefault(h, closed_loop(h))
        samples = len(reference.position)
        found = np.empty((samples + 1, 3, state.shape[1]))
        found[0] = state
        index, together = 0, _TOGETHER if samples > _SATURATED_SAMPLES else 0
        while index < samples:
            if together:
                part = slice(index, index + together)
                ahead = Reference(*(rows[part] for rows in reference))
                good = self._linear(found[index : index + together + 1], ahead, loop)
                index += good
                together = min(2 * together, _MOST_TOGETHER) if good == together else _TOGETHER
            if not together or good < len(ahead.position):
                until = min(index + _SATURATED_SAMPLES, samples)
                self._one_by_one(found[index : until + 1], reference, index, h, loop.gains)
                index = until
        return found[1:]

    def _one_by_one(
        self, found: Matrix, reference: Reference, index: int, h: float, gain: Gains
    ) -> None:
        for i in range(len(found) - 1):
            position, velocity, acceleration = (rows[index + i].tolist() for rows in reference)
            q, v, a = found[i].tolist()
            found[i + 1] = self.step((q, v, a), position, velocity, acceleration, h, gain)

    def _linear(self, found: Matrix, reference: Reference, loop: Loop) -> int:
        """Fill in states as long as no limit is reached; return how many are valid."""
        kp, kv, ka = loop.gains
        ask = ka * (kv * (kp * reference.position + reference.velocity) + reference.acceleration)
        push = ask[:, None, :] * loop.input[:, None]
        state, feedback = found[0], loop.feedback
        for index in range(len(ask)):
            state = feedback @ state + push[index]
            found[index + 1] = state
        return self._within(found, reference, loop.gains)

    def _within(self, found: Matrix, reference: Reference, gain: Gains) -> int:
        limits = self._rates
        q, v, a = found[:-1].transpose(1, 0, 2)
        v_next, a_next = found[1:, 1], found[1:, 2]
        error = reference.position - q
        correction = gain.position * error
        speed = reference.velocity + correction
        wanted = reference.acceleration + gain.speed * (speed - v)
        # While it brakes from a_next with all its jerk, the speed grows by this much more.
        more = a_next * np.abs(a_next) / (2 * limits.jerk)
        good = correction * correction <= 2 * _BRAKING * limits.acceleration * np.abs(error)
        good &= np.abs(speed) <= limits.velocity
        good &= np.abs(wanted) <= limits.acceleration
        good &= np.abs(a_next) <= limits.acceleration
        good &= gain.acceleration * np.abs(wanted - a) <= limits.jerk
        good &= np.maximum(np.abs(v_next), np.abs(v_next + more)) <= limits.velocity
        bad = np.flatnonzero(~good.all(axis=1))
        return int(bad[0]) if bad.size else len(good)

    def step(
        self,
        state: Sample,
        position: Sequence[float],
        velocity: Sequence[float],
        acceleration: Sequence[float],
        h: float,
        gain: Gains,
    ) -> Sample:
        """Return the state one sample later, joint by joint.

        Args:
            state: Position, velocity and acceleration of every joint.
            position: Reference now, in rad.
            velocity: Its speed, in rad/s.
            acceleration: Its acceleration, in rad/s^2.
            h: Time between samples, in s.
            gain: Gains for that time.
        """
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
