"""Runs a Python program given as ``--policy-config``; it acts through ``robo`` on its path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.trials.errors import PreflightError
from interlock.trials.harness import Launch, Room, Step, Usage
from interlock.trials.interpreter import python_program

if TYPE_CHECKING:
    from interlock.trials.plan import Plan


class Program:
    """Somebody's own program as the agent."""

    wire = ""
    default_model = ""

    def preflight(self, plan: Plan) -> None:
        """Check that the program is there and is Python."""
        if plan.policy_config is None:
            raise PreflightError("harness program needs --policy-config FILE.py")
        try:
            compile(plan.policy_text(), str(plan.policy_config), "exec")
        except SyntaxError as error:
            raise PreflightError(
                f"{plan.policy_config}, line {error.lineno}: {error.msg}"
            ) from error

    def launch(self, plan: Plan, room: Room) -> Launch:
        """Copy the program into the workspace and run it there."""
        return Launch(
            argv=(python_program(), "-u", "program.py"),
            files={"program.py": plan.policy_text(), "prompt.txt": room.prompt},
        )

    def transcript(self, stdout: str) -> tuple[list[Step], Usage]:
        """Return what it printed as one step."""
        return ([Step(source="agent", text=stdout)] if stdout else []), Usage()

    def failure(self, returncode: int | None, stdout: str) -> str | None:
        """Report a crash."""
        del stdout
        return None if returncode == 0 else f"the program ended with code {returncode}"
