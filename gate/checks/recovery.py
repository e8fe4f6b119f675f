"""Refuse a motion from which the arm could not stop clear of everything at some moment.

At samples along the motion, the jerk-limited stop from the commanded state there must end clear:
a cancel may come at any time. The stop at the end is part of the motion and judged with its path.
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

_STOP_POINTS = 5
_ASIDE_M = 0.002


@dataclass(frozen=True, kw_only=True)
class Recovery:
    """Stops along the way.

    Attributes:
        every_ms: Time between the moments at which a stop is tried, in ms.
    """

    name: ClassVar[str] = "recovery"
    stage: ClassVar[str] = "recovery"
    needs_plan: ClassVar[bool] = True

    every_ms: float = 30.0

    def __post_init__(self) -> None:
        if not 0 < self.every_ms <= 200:
            raise ValueError(f"every_ms: expected above 0 up to 200 ms, got {self.every_ms}")

    def __call__(self, proposal: Proposal) -> Iterator[Finding]:
        """Yield the first moment from which no stop ends clear."""
        plan = proposal.plan
        if plan is None:
            return
        near = proposal.clearance.start_allowance(plan.position[0])
        # Each joint stops for itself, so a stop in a retreat leaves its line a little.
        allowance = {pair: distance - _ASIDE_M for pair, distance in near.items()}
        stride = max(1, int(self.every_ms * 1e6 // plan.period_ns))
        for index in range(stride, plan.stop_index, stride):
            finding = _from(index, plan, proposal, allowance)
            if finding is not None:
                yield finding
                return


def _from(index: int, plan: Plan, proposal: Proposal, allowance: object) -> Finding | None:
    state = plan.state(index)
    if not np.isfinite(state.velocity).all():
        return Finding(name="recovery", reason=Reason(code="recovery", sentence="not finite"))
    path, duration_s = proposal.planner.stop_path(state, _STOP_POINTS)
    crossing = proposal.clearance.crossing(path, allowance)  # type: ignore[arg-type]
    if crossing is None:
        return None
    near = crossing.nearest
    after_s = index * plan.period_ns * 1e-9
    return Finding(
        name="recovery",
        margin=near.slack_m,
        reason=Reason(
            code="recovery",
            sentence=(
                f"A stop after {after_s:.2f} s would take {duration_s:.2f} s and bring {near.part} "
                f"within {near.distance_m * 1e3:.0f} mm of {near.other}, "
                f"the margin is {near.margin_m * 1e3:.0f} mm"
            ),
            way_out="Approach it more slowly.",
            value=near.distance_m,
            limit=near.margin_m,
            row=plan.row_of(index),
        ),
    )
