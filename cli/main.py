"""The `interlock` command: one lazily imported file per subcommand, errors as one line."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import click

from interlock.messages.errors import InterlockError, nearest

#: Subcommand -> (module in interlock.cli, attribute, one-line help).
COMMANDS: dict[str, tuple[str, str, str]] = {
    "env": ("env", "env", "List and install simulation suites."),
    "contract": ("contract", "contract", "Show or check what a robot sees and accepts."),
    "dataset": ("dataset", "dataset", "Check, repair, describe and push recorded datasets."),
    "trace": ("trace", "trace", "What happened in a run, why it failed; export it."),
    "policy": ("policy", "policy", "List, check and serve VLA policies."),
    "bench": ("bench", "bench", "Figures about this product, each a command."),
    "profile": ("profile", "profile", "Latency, losses and data age of every edge of a run."),
    "run": ("run", "run", "One trial: give a task to an agent or policy and judge it."),
    "tasks": ("tasks", "tasks", "List, show, make and check tasks."),
    "run-many": ("run_many", "run_many", "Many trials: parallel, retried, resumable."),
    "report": ("report", "report", "Rates with intervals and paired comparisons of trials."),
    "summarize": ("summarize", "summarize", "Verify a trial folder and print its learnings."),
    "world": ("world", "world", "Read and set values of the World of a running graph."),
    "sim": ("sim", "sim", "Push, remove or fasten objects of a running simulator."),
    "serve": ("serve", "serve", "Start a robot with its doors and wait for clients."),
    "program": ("program", "program", "Run a program of your own, live or in lockstep."),
    "mcp": ("mcp", "mcp", "Serve the skills of a running graph to an MCP client, over stdio."),
    "demo": ("demo", "demo", "Watch the arm follow a pushed cup, or measure it."),
    "check": ("check", "check", "Check a dataflow and this machine before a start."),
    "doctor": ("doctor", "doctor", "Try what a run needs here; say what mends the rest."),
    "lockstep": ("lockstep", "lockstep", "Run a dataflow on simulated time, bit-identically."),
    "start": ("start", "start", "Run a dataflow with the right environment and tidy output."),
    "stop": ("stop", "stop", "Stop the arm now and keep it stopped: straight to the Gate."),
    "rejudge": ("rejudge", "rejudge", "Judge a recorded run again, with another Gate."),
    "reset": ("stop", "reset", "Release an operator stop."),
    "up": ("up", "up", "Start dora in the background, authenticated and without multicast."),
}


class LazyGroup(click.Group):
    """A group that imports a subcommand only when it is used, so that `--help` stays fast."""

    def __init__(
        self, *args: Any, commands_table: dict[str, tuple[str, str, str]], **kw: Any
    ) -> None:
        super().__init__(*args, **kw)
        self._table = commands_table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return every subcommand name."""
        return sorted(self._table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a subcommand."""
        if cmd_name not in self._table:
            return None
        module, attribute, _ = self._table[cmd_name]
        command: click.Command = getattr(
            importlib.import_module(f"interlock.cli.{module}"), attribute
        )
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the subcommands from the table, without importing them."""
        rows = [(name, self._table[name][2]) for name in sorted(self._table)]
        if not rows:
            return
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the nearest subcommand when one is misspelt."""
        if args and args[0] not in self._table and not args[0].startswith("-"):
            ctx.fail(f"no command {args[0]!r}; {nearest(args[0], self._table)}")
        return super().resolve_command(ctx, args)


@click.group(cls=LazyGroup, commands_table=COMMANDS)
@click.version_option(package_name="interlock")
def cli() -> None:
    """Run, stop, profile and evaluate robots behind a Gate."""


def main() -> None:
    """Entry point: an InterlockError is one line on stderr and exit code 1."""
    try:
        cli(prog_name="interlock")
    except InterlockError as error:
        click.echo(f"interlock: {error}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
