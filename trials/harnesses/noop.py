"""Says it is done and does nothing: must score 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.trials.errors import PreflightError

if TYPE_CHECKING:
    from interlock.trials.harness import Inside
    from interlock.trials.plan import Plan
    from interlock.trials.robo_client import RoboClient


class Noop:
    """The control that no checker may reward."""

    def preflight(self, plan: Plan) -> None:
        """Refuse a model: nothing would use it."""
        if plan.model:
            raise PreflightError(f"harness noop uses no model, got {plan.model!r}; leave it out")

    def play(self, robo: RoboClient, plan: Plan, inside: Inside) -> None:
        """Say done."""
        del plan, inside
        robo.type("done noop")
