"""Refuse rows that ask for more joint speed than allowed, and motions beyond any rate limit.

The speed of a row is its distance from the row before (from the commanded state for the first),
divided by the period. The motion itself is built within the limits; that is checked again here,
so that a fault of the planner is refused and not executed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from interlock.gate.decision import Finding, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interlock.gate.plan import Plan
    from interlock.gate.proposal import Proposal

#: Rounding, and that the driver's motion may have begun at a state on the limit.
_SLACK = 1.02


@dataclass(frozen=True, kw_only=True)
class JointVelocity:
    """Speed of every joint against ``limits: velocity``."""

    name: ClassVar[str] = "joint_velocity"
    stage: ClassVar[str] = "limits"
    needs_plan: ClassVar[bool] = True

    def __call__(self, proposal: Proposal) -> Iterator[Finding]:
        """Yield the smallest margin of rows and motion, in rad/s."""
        plan, limit = proposal.plan, proposal.limits.velocity
        if plan is None:
            return
        if len(plan.demanded):
            yield _demand(proposal, plan, limit)
        yield _motion(self.name, proposal, plan, plan.velocity, limit, "rad/s")


@dataclass(frozen=True, kw_only=True)
class JointAcceleration:
    """Acceleration of every joint against ``limits: acceleration``."""

    name: ClassVar[str] = "joint_acceleration"
    stage: ClassVar[str] = "limits"
    needs_plan: ClassVar[bool] = True

    def __call__(self, proposal: Proposal) -> Iterator[Finding]:
        """Yield the smallest margin of the motion, in rad/s^2."""
        plan = proposal.plan
        if plan is not None:
            limit = proposal.limits.acceleration
            yield _motion(self.name, proposal, plan, plan.acceleration, limit, "rad/s^2")


@dataclass(frozen=True, kw_only=True)
class JointJerk:
    """Jerk of every joint against ``limits: jerk``."""

    name: ClassVar[str] = "joint_jerk"
    stage: ClassVar[str] = "limits"
    needs_plan: ClassVar[bool] = True

    def __call__(self, proposal: Proposal) -> Iterator[Finding]:
        """Yield the smallest margin of the motion, in rad/s^3."""
        plan = proposal.plan
        if plan is not None and len(plan.position) > 1:
            jerk = np.diff(plan.acceleration, axis=0) / (plan.period_ns * 1e-9)
            limit = proposal.limits.jerk
            yield _motion(self.name, proposal, plan, jerk, limit, "rad/s^3")


@dataclass(frozen=True, kw_only=True)
class Tracking:
    """How far the motion may be from a row when the row's period ends.

    Attributes:
        max_lag_rad: Largest distance of any joint, in rad.
    """

    name: ClassVar[str] = "tracking"
    stage: ClassVar[str] = "limits"
    needs_plan: ClassVar[bool] = True

    max_lag_rad: float = 0.15

    def __post_init__(self) -> None:
        if not 0 < self.max_lag_rad < 10:
            raise ValueError(f"max_lag_rad: expected above 0 rad, got {self.max_lag_rad}")

    def __call__(self, proposal: Proposal) -> Iterator[Finding]:
        """Yield the margin of the largest lag, in rad."""
        plan = proposal.plan
        if plan is None or not len(plan.lag):
            return
        lag = np.abs(plan.lag)
        worst = float(lag.max())
        reason = None
        if not worst <= self.max_lag_rad:
            bad = ~(lag <= self.max_lag_rad)
            row = int(np.argmax(bad.any(axis=1)))
            joint = int(np.argmax(lag[row]))
            joint_name = proposal.robot.joint_names[joint]
            reason = Reason(
                code="row_unreachable",
                sentence=(
                    f"{joint_name} can't reach row {row} in time: it would be "
                    f"{lag[row, joint]:.3f} rad away, allowed are {self.max_lag_rad:.3f} rad"
                ),
                way_out="Give the row more time, or a target nearer to the row before.",
                value=float(lag[row, joint]),
                limit=self.max_lag_rad,
                row=row,
            )
        yield Finding(name=self.name, margin=self.max_lag_rad - worst, reason=reason)


def _demand(proposal: Proposal, plan: Plan, limit: np.ndarray) -> Finding:
    speed = np.abs(plan.demanded)
    room = limit - speed
    worst = float(room.min())
    if worst >= 0:
        return Finding(name="joint_velocity", margin=worst)
    bad = ~(room >= 0)
    row = int(np.argmax(bad.any(axis=1)))
    joint = int(np.argmin(room[row]))
    name = proposal.robot.joint_names[joint]
    value, most = float(speed[row, joint]), float(limit[joint])
    return Finding(
        name="joint_velocity",
        margin=worst,
        reason=Reason(
            code="joint_velocity",
            sentence=f"Row {row} asks {name} for {value:.2f} rad/s, the limit is {most:.2f} rad/s",
            way_out=(
                f"Move {name} at most {most * proposal.command.period_ns * 1e-9:.4f} rad per row, "
                "or use a longer period."
            ),
            value=value,
            limit=most,
            row=row,
        ),
    )


def _motion(
    name: str, proposal: Proposal, plan: Plan, rates: np.ndarray, limit: np.ndarray, unit: str
) -> Finding:
    size = np.abs(rates)
    room = limit - size
    worst = float(room.min())
    # NaN makes the smallest value NaN, and every comparison with it false.
    if worst >= 0:
        return Finding(name=name, margin=worst)
    bad = ~(size <= limit * _SLACK)
    if not bad.any():
        return Finding(name=name, margin=0.0)
    index = int(np.argmax(bad.any(axis=1)))
    joint = int(np.argmin(room[index]))
    value, most = float(size[index, joint]), float(limit[joint])
    joint_name = proposal.robot.joint_names[joint]
    return Finding(
        name=name,
        margin=worst,
        reason=Reason(
            code=name,
            sentence=f"The motion would take {joint_name} to {value:.2f} {unit}, limit {most:.2f}",
            way_out="Send a slower command.",
            value=value,
            limit=most,
            row=plan.row_of(index),
        ),
    )
