"""Refuse a motion that takes the tool out of a box, or moves it faster than allowed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from interlock.gate.decision import Finding, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interlock.gate.plan import Plan
    from interlock.gate.proposal import Proposal
    from interlock.messages.columns import Vector

#: Samples from one that is looked at to the next.
_BETWEEN = 4
_AXES = "xyz"


@dataclass(frozen=True, kw_only=True)
class Workspace:
    """A box that the tool must stay in.

    Attributes:
        low_m: Smallest x, y, z of the tool in the world, in m.
        high_m: Largest x, y, z of the tool in the world, in m.
        tracking_m: How far the tool may be from where it is commanded to be, in m; the commanded
            tool stays this much farther inside, so that the measured one stays inside.
    """

    name: ClassVar[str] = "workspace"
    stage: ClassVar[str] = "limits"
    needs_plan: ClassVar[bool] = True

    low_m: tuple[float, float, float]
    high_m: tuple[float, float, float]
    tracking_m: float = 0.002

    def __post_init__(self) -> None:
        if not 0 <= self.tracking_m < 0.1:
            raise ValueError(f"tracking_m: expected 0 to 0.1 m, got {self.tracking_m}")
        for axis, low, high in zip(_AXES, self.low_m, self.high_m, strict=True):
            if not -100 < low < high < 100:
                raise ValueError(f"{axis}: expected low_m below high_m, got {low} and {high}")

    def __call__(self, proposal: Proposal) -> Iterator[Finding]:
        """Yield the smallest distance of the tool to a side of the box, in m."""
        plan = proposal.plan
        if plan is None:
            return
        low, high = np.array(self.low_m), np.array(self.high_m)
        worst, at_start, index = math.inf, None, 0
        while index < len(plan.position):
            tool = proposal.robot.forward(plan.position[index])[:3]
            room = np.minimum(tool - low, high - tool) - self.tracking_m
            axis = int(np.argmin(room))
            least = float(room[axis])
            at_start = least if at_start is None else at_start
            worst = min(worst, least)
            # Outside already: let it come back in.
            if not least >= min(0.0, at_start):
                reason = self._reason(axis, float(tool[axis]), plan.row_of(index))
                yield Finding(name=self.name, margin=least, reason=reason)
                return
            index = _next_index(plan, index, least, proposal.levers)
        yield Finding(name=self.name, margin=worst)

    def _reason(self, axis: int, value: float, row: int | None) -> Reason:
        low, high = self.low_m[axis], self.high_m[axis]
        return Reason(
            code="workspace",
            sentence=(
                f"The tool would be at {_AXES[axis]} {value:.3f} m, "
                f"the workspace is {low:.3f} to {high:.3f} m less {self.tracking_m * 1e3:.0f} mm"
            ),
            way_out=(
                f"Keep the tool's {_AXES[axis]} inside {low + self.tracking_m:.3f} to "
                f"{high - self.tracking_m:.3f} m."
            ),
            value=value,
            limit=low if value < (low + high) / 2 else high,
            row=row,
        )


@dataclass(frozen=True, kw_only=True)
class ToolSpeed:
    """Largest speed of the tool.

    Attributes:
        limit_mps: Largest speed, in m/s.
    """

    name: ClassVar[str] = "tool_speed"
    stage: ClassVar[str] = "limits"
    needs_plan: ClassVar[bool] = True

    limit_mps: float

    def __post_init__(self) -> None:
        if not 0 < self.limit_mps < 100:
            raise ValueError(f"limit_mps: expected above 0 m/s, got {self.limit_mps}")

    def __call__(self, proposal: Proposal) -> Iterator[Finding]:
        """Yield the margin of the fastest sample, in m/s."""
        plan = proposal.plan
        if plan is None:
            return
        # No point is faster than the sum of lever times joint speed: often that is enough.
        bound = np.abs(plan.velocity) @ proposal.levers
        if float(bound.max()) <= self.limit_mps:
            yield Finding(name=self.name, margin=self.limit_mps - float(bound.max()))
            return
        speeds = [
            (proposal.robot.tool_speed(plan.position[i], plan.velocity[i]), i)
            for i in _looked_at(plan)
        ]
        # Faster already: let it slow down.
        most = max(self.limit_mps, speeds[0][0])
        reason = next((self._reason(v, plan.row_of(i)) for v, i in speeds if not v <= most), None)
        yield Finding(name=self.name, margin=self.limit_mps - max(speeds)[0], reason=reason)

    def _reason(self, speed: float, row: int | None) -> Reason:
        return Reason(
            code="tool_speed",
            sentence=(
                f"The tool would move at {speed:.2f} m/s, the limit is {self.limit_mps:.2f} m/s"
            ),
            way_out="Use a longer period or nearer targets.",
            value=speed,
            limit=self.limit_mps,
            row=row,
        )


def _next_index(plan: Plan, index: int, room_m: float, levers: Vector) -> int:
    """Return the next sample at which the tool could have used up its room."""
    moved = np.abs(plan.position[index + 1 :] - plan.position[index]) @ levers
    outside = np.flatnonzero(~(moved <= room_m))
    skipped = int(outside[0]) if outside.size else len(moved)
    # Outside of the box there is no room to skip with.
    return index + 1 + max(skipped, _BETWEEN if room_m < 0 else 0)


def _looked_at(plan: Plan) -> list[int]:
    last = len(plan.position) - 1
    fastest = int(np.argmax(np.abs(plan.velocity).max(axis=1)))
    return sorted({*range(0, last, _BETWEEN), fastest, last})
