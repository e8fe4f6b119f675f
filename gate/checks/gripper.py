"""Refuse a gripper command beyond its range or force."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from interlock.gate.decision import Finding, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interlock.gate.proposal import Proposal

_ROUNDING_M = 1e-6


@dataclass(frozen=True, kw_only=True)
class Gripper:
    """Width within the gripper's range; force at most.

    Attributes:
        max_force_n: Largest grip force, in N.
    """

    name: ClassVar[str] = "gripper"
    stage: ClassVar[str] = "limits"
    needs_plan: ClassVar[bool] = False

    max_force_n: float = 70.0

    def __post_init__(self) -> None:
        if not 0 < self.max_force_n < 1e4:
            raise ValueError(f"max_force_n: expected above 0 N, got {self.max_force_n}")

    def __call__(self, proposal: Proposal) -> Iterator[Finding]:
        """Yield the margin of the width, in m, and of the force, in N."""
        command = proposal.command
        if not command.gripper_m.size:
            return
        low, high = proposal.robot.gripper_width_range_m
        for row, width in enumerate(command.gripper_m.tolist()):
            if not low - _ROUNDING_M <= width <= high + _ROUNDING_M:
                yield Finding(
                    name="gripper_width",
                    margin=min(width - low, high - width),
                    reason=Reason(
                        code="gripper_width",
                        sentence=(
                            f"The gripper would be told {width:.4f} m, "
                            f"its range is {low:.4f} to {high:.4f} m"
                        ),
                        way_out=f"Command a width of {low:.3f} to {high:.3f} m.",
                        value=width,
                        limit=low if width < low else high,
                        row=row,
                    ),
                )
                break
        force = command.gripper_force_n
        reason = None
        if not 0 < force <= self.max_force_n:
            reason = Reason(
                code="gripper_force",
                sentence=f"A grip force of {force:.0f} N, the limit is {self.max_force_n:.0f} N",
                way_out="Ask for less force.",
                value=force,
                limit=self.max_force_n,
            )
        yield Finding(name="gripper_force", margin=self.max_force_n - force, reason=reason)
