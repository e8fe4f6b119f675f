"""Refuse a motion that takes a joint out of its range, its stop included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from interlock.gate.decision import Finding, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interlock.gate.proposal import Proposal


@dataclass(frozen=True, kw_only=True)
class JointRange:
    """Position of every joint.

    Attributes:
        margin_rad: Distance to keep from the ends of the range, in rad.
    """

    name: ClassVar[str] = "joint_range"
    stage: ClassVar[str] = "limits"
    needs_plan: ClassVar[bool] = True

    margin_rad: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.margin_rad < 1:
            raise ValueError(f"margin_rad: expected 0 to 1 rad, got {self.margin_rad}")

    def __call__(self, proposal: Proposal) -> Iterator[Finding]:
        """Yield the smallest distance of any joint to an end of its range, in rad."""
        plan, limits = proposal.plan, proposal.limits
        if plan is None:
            return
        low = limits.position_low + self.margin_rad
        high = limits.position_high - self.margin_rad
        yield _finding("motion", plan.position, low, high, proposal)
        if len(plan.targets):
            yield _finding("target", plan.targets, low, high, proposal)


def _finding(
    what: str, position: np.ndarray, low: np.ndarray, high: np.ndarray, proposal: Proposal
) -> Finding:
    room = np.minimum(position - low, high - position)
    worst = float(room.min())
    # NaN makes the smallest value NaN, and every comparison with it false.
    if worst >= 0:
        return Finding(name="joint_range", margin=worst)
    inward = np.zeros_like(room, dtype=bool)
    if what == "motion":
        # The state the motion starts from is where the arm is, not what the command asks.
        inward[1:] = room[1:] >= room[0]
        inward[0] = True
    bad = ~(room >= 0) & ~inward
    if not bad.any():
        return Finding(name="joint_range", margin=worst)
    index = int(np.argmax(bad.any(axis=1)))
    joint = int(np.argmax(bad[index]))
    assert proposal.plan is not None
    row = index if what == "target" else proposal.plan.row_of(index)
    value = float(position[index, joint])
    limit = float(low[joint] if not value >= low[joint] else high[joint])
    name = proposal.robot.joint_names[joint]
    over = " in the stop after it" if what == "motion" else ""
    return Finding(
        name="joint_range",
        margin=worst,
        reason=Reason(
            code="joint_range",
            sentence=(
                f"{name} would be at {value:.3f} rad{over}, "
                f"allowed is {low[joint]:.3f} to {high[joint]:.3f} rad"
            ),
            way_out=f"Keep {name} inside {low[joint]:.3f} to {high[joint]:.3f} rad.",
            value=value,
            limit=limit,
            row=row,
        ),
    )
