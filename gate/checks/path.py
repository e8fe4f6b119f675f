"""Refuse a motion whose swept path, not only its target, comes too near to anything.

Judged against fixtures (table, walls), keep-out zones, objects and the robot itself. The margin of
an object grows with the age of its last sighting. Where the arm is already too near to something,
a motion that brings it no nearer is let through, so that it is never locked in.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from interlock.gate.decision import Finding, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interlock.gate.clearance import Crossing
    from interlock.gate.plan import Plan
    from interlock.gate.proposal import Proposal


@dataclass(frozen=True, kw_only=True)
class Path:
    """Margins to keep along the whole motion.

    Attributes:
        fixture_margin_m: From everything that stands still, in m.
        object_margin_m: From objects that the task does not touch, in m.
        object_growth_mps: How fast that margin grows with the age of the sighting, in m/s.
        object_margin_most_m: The most that it grows to, in m.
        self_margin_m: Between links that could meet, in m.
        held_margin_m: Between what the gripper holds and fixtures, in m; below 0 it may overlap
            by as much as its pose is uncertain, so that it can be put down.
        margins_m: Margin by name, in place of the ones above, in m.
    """

    name: ClassVar[str] = "path"
    stage: ClassVar[str] = "path"
    needs_plan: ClassVar[bool] = True

    fixture_margin_m: float = 0.004
    object_margin_m: float = 0.008
    object_growth_mps: float = 0.02
    object_margin_most_m: float = 0.05
    self_margin_m: float = 0.004
    held_margin_m: float = -0.006
    margins_m: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for key in (
            "fixture_margin_m",
            "object_margin_m",
            "object_growth_mps",
            "object_margin_most_m",
            "self_margin_m",
        ):
            if not 0 <= getattr(self, key) < 1:
                raise ValueError(f"{key}: expected 0 to 1, got {getattr(self, key)}")
        if not -0.02 <= self.held_margin_m < 1:
            raise ValueError(f"held_margin_m: expected -0.02 to 1, got {self.held_margin_m}")
        for name, value in self.margins_m.items():
            if not 0 <= value < 1:
                raise ValueError(f"margins_m: {name}: expected 0 to 1 m, got {value}")

    def __call__(self, proposal: Proposal) -> Iterator[Finding]:
        """Yield the least clearance of the motion and of its stop, in m."""
        plan = proposal.plan
        if plan is None:
            return
        allowance = proposal.clearance.start_allowance(plan.position[0])
        crossing = proposal.clearance.crossing(plan.position, allowance)
        if crossing is None:
            least = proposal.clearance.least
            if least is not None and least.other:
                yield Finding(name=f"{least.part}-{least.other}", margin=least.slack_m)
            return
        yield _refusal(crossing, plan, proposal)


def _refusal(crossing: Crossing, plan: Plan, proposal: Proposal) -> Finding:
    index, near = crossing.sample, crossing.nearest
    after_s = (index * plan.period_ns) * 1e-9
    where = "in the stop that follows, " if index > plan.stop_index else ""
    way_out = f"Keep {near.part} at least {near.margin_m * 1e3:.0f} mm away from {near.other}."
    if near.other in proposal.sightings:
        way_out += f" If the task is to touch {near.other}, name it in the task's touches."
    return Finding(
        name=f"{near.part}-{near.other}",
        margin=near.slack_m,
        reason=Reason(
            code=f"path_{near.other}",
            sentence=(
                f"{near.part} would come within {near.distance_m * 1e3:.0f} mm of {near.other} "
                f"after {after_s:.2f} s, {where}the margin is {near.margin_m * 1e3:.0f} mm"
            ),
            way_out=way_out,
            value=near.distance_m,
            limit=near.margin_m,
            row=plan.row_of(index),
        ),
    )
