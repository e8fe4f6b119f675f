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

#: Samples looked at besides the ends of rows and of the motion.
_BETWEEN = 6
_AXES = "xyz"


@dataclass(frozen=True, kw_only=True)
class Workspace:
    """A box that the tool must stay in.

    Attributes:
        low_m: Smallest x, y, z of the tool in the world, in m.
        high_m: Largest x, y, z of the tool in the world, in m.
    """

    name: ClassVar[str] = "workspace"
    stage: ClassVar[str] = "limits"
    needs_plan: ClassVar[bool] = True

    low_m: tuple[float, float, float]
    high_m: tuple[float, float, float]

    def __post_init__(self) -> None:
        for axis, low, high in zip(_AXES, self.low_m, self.high_m, strict=True):
            if not -100 < low < high < 100:
                raise ValueError(f"{axis}: expected low_m below high_m, got {low} and {high}")

    def __call__(self, proposal: Proposal) -> Iterator[Finding]:
        """Yield the smallest distance of the tool to a side of the box, in m."""
        plan = proposal.plan
        if plan is None:
            return
        low, high = np.array(self.low_m), np.array(self.high_m)
        worst, at_start = math.inf, None
        for index in _looked_at(plan):
            tool = proposal.robot.forward(plan.position[index])[:3]
            room = np.minimum(tool - low, high - tool)
            axis = int(np.argmin(room))
            if at_start is None:
                at_start = float(room[axis])
            worst = min(worst, float(room[axis]))
            # Outside already: let it come back in.
            if not room[axis] >= min(0.0, at_start):
                yield Finding(
                    name=self.name,
                    margin=float(room[axis]),
                    reason=self._reason(axis, float(tool[axis]), plan.row_of(index)),
                )
                return
        yield Finding(name=self.name, margin=worst)

    def _reason(self, axis: int, value: float, row: int | None) -> Reason:
        low, high = self.low_m[axis], self.high_m[axis]
        return Reason(
            code="workspace",
            sentence=(
                f"The tool would be at {_AXES[axis]} {value:.3f} m, "
                f"the workspace is {low:.3f} to {high:.3f} m"
            ),
            way_out=f"Keep the tool's {_AXES[axis]} inside {low:.3f} to {high:.3f} m.",
            value=value,
            limit=low if value < low else high,
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
        worst, start = math.inf, None
        for index in _looked_at(plan):
            speed = proposal.robot.tool_speed(plan.position[index], plan.velocity[index])
            start = speed if start is None else start
            worst = min(worst, self.limit_mps - speed)
            # Faster already: let it slow down.
            if not speed <= max(self.limit_mps, start):
                yield Finding(
                    name=self.name,
                    margin=worst,
                    reason=Reason(
                        code="tool_speed",
                        sentence=(
                            f"The tool would move at {speed:.2f} m/s, "
                            f"the limit is {self.limit_mps:.2f} m/s"
                        ),
                        way_out="Use a longer period or nearer targets.",
                        value=speed,
                        limit=self.limit_mps,
                        row=plan.row_of(index),
                    ),
                )
                return
        yield Finding(name=self.name, margin=worst)


def _looked_at(plan: Plan) -> list[int]:
    last = len(plan.position) - 1
    stride = max(1, last // _BETWEEN)
    return sorted({*range(0, last, stride), *plan.row_end[:: max(1, stride // 4)].tolist(), last})
