"""What the judge found, as a value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the judge found.

    Attributes:
        outcome: How the episode ended.
        success: Whether it counts as solved.
        goal_held: Whether the goal state held at the end, solved or not.
        first_success_step: Control step at which the goal first held; None if never.
        harm_step: Control step at which harm was first done; None if never.
        progress: Part of the success predicates that held at the end; None if there are none.
        steps: Control steps used.
        text: What the agent said at the end.
    """

    outcome: str
    success: bool
    goal_held: bool
    first_success_step: int | None
    harm_step: int | None
    progress: float | None
    steps: int
    text: str
