"""Where the commanded arm is at any time of an admitted command; Gate and driver use this one.

Between two samples the motion is the polynomial of degree five that meets both samples in
position, velocity and acceleration. After the last sample, which is at rest, it stands still.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from interlock.messages.columns import Integers, Matrix, Vector
    from interlock.messages.command import AdmittedCommand


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
    """Return commanded positions and velocities at many times, each of shape (n_times, n_joints).

    The same numbers as ``state_at`` for each time, several times faster.
    """
    last = len(motion.position) - 1
    elapsed = np.clip(times_ns - motion.start_ns, 0, last * motion.period_ns)
    index = np.minimum(elapsed // motion.period_ns, max(last - 1, 0))
    t = ((elapsed - index * motion.period_ns) * 1e-9)[:, None]
    if last == 0:
        return motion.position[index], motion.velocity[index]
    state = _between(motion, index, t)
    return state.position, state.velocity


def gripper_at(motion: AdmittedCommand, now_ns: int) -> float | None:
    """Return the commanded distance between the fingers, in m; None leaves it as it is."""
    if not motion.gripper_m.size:
        return None
    index = (now_ns - motion.start_ns) // motion.period_ns
    return float(motion.gripper_m[min(max(index, 0), len(motion.gripper_m) - 1)])


def _between(motion: AdmittedCommand, index: int | Integers, t: float | Matrix) -> JointState:
    h = motion.period_ns * 1e-9
    p0, v0, a0 = (x[index] for x in (motion.position, motion.velocity, motion.acceleration))
    p1, v1, a1 = (x[index + 1] for x in (motion.position, motion.velocity, motion.acceleration))
    step = p1 - p0
    c3 = (20 * step - (8 * v1 + 12 * v0) * h - (3 * a0 - a1) * h**2) / (2 * h**3)
    c4 = (-30 * step + (14 * v1 + 16 * v0) * h + (3 * a0 - 2 * a1) * h**2) / (2 * h**4)
    c5 = (12 * step - 6 * (v1 + v0) * h - (a0 - a1) * h**2) / (2 * h**5)
    return JointState(
        p0 + t * (v0 + t * (a0 / 2 + t * (c3 + t * (c4 + t * c5)))),
        v0 + t * (a0 + t * (3 * c3 + t * (4 * c4 + t * 5 * c5))),
        a0 + t * (6 * c3 + t * (12 * c4 + t * 20 * c5)),
    )
