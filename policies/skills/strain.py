"""Straight lines that the joints can follow: slower where the arm is stretched or folded."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from interlock.policies.skills.plan import LinePlan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlock.policies.arm import Arm
    from interlock.policies.skills.profile import Motion

    Vector = NDArray[np.float64]

#: Share of the joints' acceleration limits that a straight line may use.
STRAIN = 0.72
#: A line is probed at this many points at most, no closer than this, in ns.
PROBES = 12
PROBE_NS = 50_000_000
#: It is made slower at most this often, and by no more than this at a time.
TRIES = 3
SLOWER = 0.6


def gentle_line(
    arm: Arm, begin: Motion, goal: Vector, *, start_ns: int, seed: Vector, speed: float
) -> LinePlan:
    """Return a line at a share of the usual speed, or slower if the joints need it.

    Args:
        arm: Kinematics and limits.
        begin: x, y, z and turn at the start, with velocity and acceleration.
        goal: x, y, z in m and the turn in rad.
        start_ns: When it starts, in ns.
        seed: Joint positions at the start, shape (n_joints,), in rad.
        speed: Share of the usual speed.

    Raises:
        UnreachableError: If the arm can't reach a point of it.
    """
    for _ in range(TRIES):
        plan = LinePlan(arm, begin, goal, start_ns=start_ns, speed=speed)
        strain = _strain(arm, plan, start_ns, seed)
        if strain <= 1.0:
            break
        speed *= max(SLOWER, 0.95 / math.sqrt(strain))
    return plan


def _strain(arm: Arm, plan: LinePlan, start_ns: int, seed: Vector) -> float:
    """Return the joints' largest acceleration on the way, against what they may use."""
    step_ns = max(PROBE_NS, (plan.end_ns - start_ns) // PROBES)
    rows, time_ns = [seed], start_ns
    while time_ns < plan.end_ns:
        time_ns += step_ns
        rows.append(plan.joints_about(time_ns, rows[-1]))
    if len(rows) < 3:
        return 0.0
    bends = np.abs(np.diff(rows, 2, axis=0)) / (step_ns * 1e-9) ** 2
    return float((bends / arm.limits.acceleration).max() / STRAIN)
