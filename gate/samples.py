"""Where the commanded arm is at any time of an admitted command; Gate and driver use this one.

Between two samples the motion is the polynomial of degree five that meets both samples in
position, velocity and acceleration. After the last sample, which is at rest, it stands still.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from interlock.messages.columns import Integers, Matrix, Vector
    from interlock.messages.command import AdmittedCommand

_POWERS = np.arange(6)


class JointState(NamedTuple):
    """Commanded state of every joint, each of shape (n_joints,)."""

    position: Vector
    velocity: Vector
    acceleration: Vector


def at_rest(position: Vector) -> JointState:
    """Return the state of standing still at a position."""
    still = np.zeros_like(position)
    return JointState(position.copy(), still, still.copy())


def end_ns(motion: AdmittedCommand) -> int:
    """Return when the last sample of a motion holds, in ns."""
    return motion.start_ns + (len(motion.position) - 1) * motion.period_ns


def stop_ns(motion: AdmittedCommand) -> int:
    """Return when the verified stop of a motion begins, in ns."""
    return motion.start_ns + motion.stop_index * motion.period_ns


def state_at(motion: AdmittedCommand, now_ns: int) -> JointState:
    """Return the commanded state at a time; before the start that is the first sample."""
    elapsed_ns = now_ns - motion.start_ns
    index, rest_ns = divmod(elapsed_ns, motion.period_ns)
    if elapsed_ns <= 0 or index >= len(motion.position) - 1:
        row = 0 if elapsed_ns <= 0 else -1
        return JointState(
            motion.position[row].copy(),
            motion.velocity[row].copy(),
            motion.acceleration[row].copy(),
        )
    if rest_ns == 0:
        return JointState(
            motion.position[index].copy(),
            motion.velocity[index].copy(),
            motion.acceleration[index].copy(),
        )
    return _between(motion, index, rest_ns * 1e-9)


def path_at(motion: AdmittedCommand, times_ns: Integers) -> tuple[Matrix, Matrix]:
    """Return commanded positions and velocities at rising times, each (n_times, n_joints).

    What ``state_at`` says for each time, to rounding, several times faster.
    """
    last = len(motion.position) - 1
    if times_ns[0] >= end_ns(motion):
        rows = np.full(len(times_ns), last)
        return motion.position[rows], motion.velocity[rows]
    elapsed = np.minimum(np.maximum(times_ns - motion.start_ns, 0), last * motion.period_ns)
    index = np.minimum(elapsed // motion.period_ns, last - 1)
    powers = ((elapsed - index * motion.period_ns) * 1e-9)[:, None] ** _POWERS
    slopes = _POWERS[1:] * powers[:, :-1]
    position, velocity = np.empty((2, len(times_ns), motion.position.shape[1]))
    for interval in sorted(set(index.tolist())):
        now = index == interval
        coefficients = _coefficients(motion, interval)
        position[now] = powers[now] @ coefficients
        velocity[now] = slopes[now] @ coefficients[1:]
    return position, velocity


def rest_from(motion: AdmittedCommand, start_ns: int) -> JointState:
    """Return the states from a time on, one sample period apart, the last one at rest.

    Args:
        motion: A motion that is under way or not begun at ``start_ns``.
        start_ns: Before its end, in ns.

    Returns:
        Position, velocity and acceleration, each of shape (n_samples, n_joints): what
        ``state_at`` says for each time, to rounding, many times faster.
    """
    last = len(motion.position) - 1
    before, elapsed_ns = 0, start_ns - motion.start_ns
    if elapsed_ns < 0:
        # It has not begun: it stands at its first sample until then.
        before = -(elapsed_ns // motion.period_ns)
        elapsed_ns += before * motion.period_ns
    index, rest_ns = divmod(elapsed_ns, motion.period_ns)
    if rest_ns:
        states = _between_all(motion, index, last, rest_ns * 1e-9)
    else:
        rows = slice(index, None)
        states = JointState(motion.position[rows], motion.velocity[rows], motion.acceleration[rows])
    first = (motion.position[:1], motion.velocity[:1], motion.acceleration[:1])
    parts = zip(first, states, strict=True)
    return JointState(*(np.concatenate([np.repeat(a, before, axis=0), b]) for a, b in parts))


def _between_all(motion: AdmittedCommand, first: int, last: int, t: float) -> JointState:
    """Return the states t after each sample from ``first`` on, then the last sample."""
    rows, n = last - first, motion.position.shape[1]
    ends = np.empty((6, rows, n))
    for i, array in enumerate((motion.position, motion.velocity, motion.acceleration)):
        ends[2 * i], ends[2 * i + 1] = array[first:last], array[first + 1 :]
    powers = t**_POWERS
    at = np.zeros((3, 6))
    at[0] = powers
    at[1, 1:] = _POWERS[1:] * powers[:-1]
    at[2, 2:] = _POWERS[2:] * _POWERS[1:-1] * powers[:-2]
    values = (at @ _quintic(motion.period_ns * 1e-9) @ ends.reshape(6, -1)).reshape(3, rows, n)
    final = (motion.position[-1:], motion.velocity[-1:], motion.acceleration[-1:])
    return JointState(*(np.concatenate([a, b]) for a, b in zip(values, final, strict=True)))


def gripper_at(motion: AdmittedCommand, now_ns: int) -> float | None:
    """Return the commanded distance between the fingers, in m; None leaves it as it is."""
    if not motion.gripper_m.size:
        return None
    index = (now_ns - motion.start_ns) // motion.period_ns
    return float(motion.gripper_m[min(max(index, 0), len(motion.gripper_m) - 1)])


def _between(motion: AdmittedCommand, index: int, t: float) -> JointState:
    c0, c1, c2, c3, c4, c5 = _coefficients(motion, index)
    return JointState(
        c0 + t * (c1 + t * (c2 + t * (c3 + t * (c4 + t * c5)))),
        c1 + t * (2 * c2 + t * (3 * c3 + t * (4 * c4 + t * 5 * c5))),
        2 * c2 + t * (6 * c3 + t * (12 * c4 + t * 20 * c5)),
    )


def _coefficients(motion: AdmittedCommand, index: int) -> Matrix:
    """Return the polynomial of one interval, lowest power first, shape (6, n_joints)."""
    h = motion.period_ns * 1e-9
    ends = np.empty((6, motion.position.shape[1]))
    ends[:2] = motion.position[index : index + 2]
    ends[2:4] = motion.velocity[index : index + 2]
    ends[4:] = motion.acceleration[index : index + 2]
    return _quintic(h) @ ends


@lru_cache(maxsize=64)
def _quintic(h: float) -> Matrix:
    """Return the matrix from (p0, p1, v0, v1, a0, a1) to coefficients, for an interval of h s."""
    return np.array(
        [
            [1, 0, 0, 0, 0, 0],
            [0, 0, 1, 0, 0, 0],
            [0, 0, 0, 0, 0.5, 0],
            [-10 / h**3, 10 / h**3, -6 / h**2, -4 / h**2, -1.5 / h, 0.5 / h],
            [15 / h**4, -15 / h**4, 8 / h**3, 7 / h**3, 1.5 / h**2, -1 / h**2],
            [-6 / h**5, 6 / h**5, -3 / h**4, -3 / h**4, -0.5 / h**3, 0.5 / h**3],
        ]
    )
