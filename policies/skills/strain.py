"""Straight lines that the joints can follow: slower where the arm is stretched or folded."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from interlock.policies.skills.plan import JointPlan, LinePlan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlock.policies.arm import Arm
    from interlock.policies.skills.plan import Plan
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
#: Goals closer than this to the planned one change nothing: m and rad.
SAME_GOAL = 0.0005
#: A line may swing this far beyond its start and its goal, in m.
SWING_M = 0.05


def gentle_line(arm: Arm, plan: LinePlan, begin: Motion, *, seed: Vector, speed: float) -> LinePlan:
    """Return a line, made slower if the joints need it.

    Args:
        arm: Kinematics and limits.
        plan: The line at ``speed``.
        begin: x, y, z and turn at its start, with velocity and acceleration.
        seed: Joint positions at the start, shape (n_joints,), in rad.
        speed: Share of the usual speed.

    Raises:
        UnreachableError: If the arm can't reach a point of it.
    """
    start_ns = plan.profile.start_ns
    for _ in range(TRIES):
        strain = _strain(arm, plan, start_ns, seed)
        if strain <= 1.0:
            break
        speed *= max(SLOWER, 0.95 / math.sqrt(strain))
        slower = LinePlan(arm, begin, plan.goal, start_ns=start_ns, speed=speed)
        if swings_out(slower):
            break  # what is slower also brakes later
        plan = slower
    return plan


def curves_to(plan: Plan, pose: Vector, solved: tuple[Vector, Vector] | None) -> bool:
    """Return whether a curved plan ends in a pose; ``solved`` is the last pose and its joints."""
    if solved is None or not isinstance(plan, JointPlan):
        return False
    off = (np.abs(solved[0] - pose).max(), np.abs(solved[1] - plan.goal).max())
    return bool(max(off) <= SAME_GOAL)


def swings_out(plan: LinePlan) -> bool:
    """Return whether a line begins too fast to stay between its start and its goal."""
    profile = plan.profile
    times_ns = np.linspace(profile.start_ns, profile.end_ns, PROBES + 1).astype(np.int64)
    way = np.array([profile.at(int(t)).position[:3] for t in times_ns])
    low, high = np.minimum(way[0], way[-1]), np.maximum(way[0], way[-1])
    return bool((way < low - SWING_M).any() or (way > high + SWING_M).any())


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
