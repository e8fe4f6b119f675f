"""The reference solution of the task, with true positions put in: must score 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.trials.errors import PreflightError
from interlock.trials.task import instantiate

if TYPE_CHECKING:
    from collections.abc import Callable

    from interlock.trials.harness import Inside
    from interlock.trials.plan import Plan
    from interlock.trials.robo_client import RoboClient


class Oracle:
    """Types the lines of the solution until the episode is over."""

    def preflight(self, plan: Plan) -> None:
        """Refuse a model: nothing would use it."""
        if plan.model:
            raise PreflightError(f"harness oracle uses no model, got {plan.model!r}; leave it out")
        if plan.task.world.startswith("gym:"):
            raise PreflightError(
                f"{plan.task.id} has no reference solution of ours; its suite may have one"
            )

    def play(self, robo: RoboClient, plan: Plan, inside: Inside) -> None:
        """Type the solution line by line."""
        play_lines(robo, instantiate(plan.task, seed=plan.seed).solution, inside.resolve)


def play_lines(robo: RoboClient, lines: tuple[str, ...], resolve: Callable[[str], str]) -> None:
    """Type lines until one ends the episode."""
    for line in lines:
        robo.type(resolve(line))
        if robo.ask("status")["result"]["finished"]:
            return
