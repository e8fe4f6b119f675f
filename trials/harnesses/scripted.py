"""Types the lines of a file given as ``--policy-config``, without any true positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.trials.command_line import parse_line
from interlock.trials.errors import PreflightError, UsageError
from interlock.trials.harnesses.oracle import play_lines

if TYPE_CHECKING:
    from interlock.trials.harness import Inside
    from interlock.trials.plan import Plan
    from interlock.trials.robo_client import RoboClient


class Scripted:
    """A fixed sequence of ``robo`` lines."""

    def preflight(self, plan: Plan) -> None:
        """Check every line of the script before anything starts."""
        if plan.policy_config is None:
            raise PreflightError("harness scripted needs --policy-config FILE with lines of `robo`")
        for number, line in enumerate(_lines(plan), start=1):
            try:
                parse_line(line)
            except UsageError as error:
                raise PreflightError(f"{plan.policy_config}, command {number}: {error}") from error

    def play(self, robo: RoboClient, plan: Plan, inside: Inside) -> None:
        """Type the script."""
        del inside  # A script gets no true positions.
        play_lines(robo, _lines(plan), lambda line: line.removeprefix("robo "))


def _lines(plan: Plan) -> tuple[str, ...]:
    rows = (row.split("#", 1)[0].strip() for row in plan.policy_text().splitlines())
    return tuple(row for row in rows if row)
