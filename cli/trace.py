"""`interlock trace`: what happened in a run, why it failed, and the run for other tools."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table

    from interlock.operators.trace import Trace
    from interlock.operators.trace.listing import CommandRow, TaskRow

_run = click.argument("run", required=False, type=click.Path(path_type=Path))
_runs = click.option(
    "--runs", default="runs", type=click.Path(path_type=Path), help="Folder of runs."
)


@click.group()
def trace() -> None:
    """Show, explain and export what a run recorded. RUN is its folder; default the newest."""


@trace.command()
@_run
@_runs
@click.option("--failed", is_flag=True, help="Only what failed or was refused.")
@click.option("--task", help="Only this task: token, goal or name.")
@click.option("--limit", default=40, help="Most commands to show; 0 shows all.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, everything of it.")
def show(
    run: Path | None, runs: Path, failed: bool, task: str | None, limit: int, as_json: bool
) -> None:
    """List the tasks, commands and verdicts of RUN."""
    from interlock.operators.trace.listing import command_rows, task_rows

    found = _open(run, runs)
    tasks = [
        t
        for t in task_rows(found)
        if (not failed or t.status != "succeeded") and task in (None, t.goal, t.name)
    ]
    commands = [c for c in command_rows(found, task=task) if not failed or c.failed]
    if as_json:
        click.echo(json.dumps(_everything(found, tasks, commands), indent=2))
        return
    console = _console()
    _head(found)
    console.print(_task_table(tasks))
    shown = commands[-limit:] if limit else commands
    console.print(_command_table(shown))
    if len(shown) < len(commands):
        click.echo(f"({len(commands) - len(shown)} earlier commands; --limit 0 shows all)")


@trace.command()
@_run
@_runs
@click.option("--goal", help="Explain this task; default the last one that failed.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def why(run: Path | None, runs: Path, goal: str | None, as_json: bool) -> None:
    """Say in one paragraph why RUN failed, from the data that its decisions rested on."""
    from interlock.operators.trace.explain import CAUSES, explain

    found = explain(_open(run, runs), goal=goal)
    if as_json:
        click.echo(json.dumps(found.to_json(), indent=2))
        return
    if found.cause:
        click.echo(f"cause: {CAUSES[found.cause]}")
    click.echo(found.text)


@trace.command()
@_run
@_runs
@click.option("--mcap", type=click.Path(path_type=Path), help="Write an MCAP file.")
@click.option("--rerun", type=click.Path(path_type=Path), help="Write a Rerun recording (.rrd).")
def export(run: Path | None, runs: Path, mcap: Path | None, rerun: Path | None) -> None:
    """Write RUN as MCAP (Foxglove and others) or as a Rerun recording."""
    if mcap is None and rerun is None:
        raise click.UsageError("name a file: --mcap FILE or --rerun FILE")
    found = _open(run, runs)
    if mcap is not None:
        from interlock.operators.trace.export_mcap import write_mcap

        click.echo(f"{mcap}: {write_mcap(found, mcap)} messages")
    if rerun is not None:
        from interlock.operators.trace.export_rerun import write_rerun

        click.echo(f"{rerun}: {write_rerun(found, rerun)} messages")


@trace.command()
@_run
@_runs
def digest(run: Path | None, runs: Path) -> None:
    """Print the SHA-256 of what RUN recorded; equal for bit-identical runs."""
    from interlock.operators.trace import digest, newest_run

    click.echo(digest(run or newest_run(runs)))


def _open(run: Path | None, runs: Path) -> Trace:
    from interlock.operators.trace import Trace, newest_run

    return Trace(run or newest_run(runs))


def _console() -> Console:
    from rich.console import Console

    # A pipe has no width of its own: never cut a sentence short there.
    width = None if sys.stdout.isatty() else 200
    return Console(width=width, markup=False, highlight=False)


def _head(found: Trace) -> None:
    start_ns, end_ns = found.span_ns()
    count = sum(len(s) for s in found.streams)
    meta = found.meta
    click.echo(
        f"run {meta.get('run_id', '?')}: {count} messages in {(end_ns - start_ns) / 1e9:.1f} s, "
        f"clock {meta.get('clock', '?')}, seed {meta.get('seed', '?')}"
    )
    for line in _missing(found):
        click.echo(line)


def _missing(found: Trace) -> list[str]:
    """Return one line for each thing that is not in the trace."""
    from interlock.operators.trace.summary import recount

    lines = []
    if not found.summary:
        lines.append("no summary: the trace node did not get to its end, or still runs")
    gaps = {name: c.gaps for name, c in recount(found).items() if c.gaps}
    if gaps:
        lines.append("lost: " + ", ".join(f"{n} of {name}" for name, n in gaps.items()))
    for key, words in (("left_out", "messages"), ("pictures_left_out", "pictures")):
        if found.summary.get(key):
            lines.append(f"left out by the trace: {found.summary[key]} {words}")
    if found.summary.get("error"):
        lines.append(str(found.summary["error"]))
    return lines


def _task_table(tasks: Sequence[TaskRow]) -> Table:
    from rich.table import Table

    table = Table(title=f"{len(tasks)} tasks", title_justify="left", box=None, pad_edge=False)
    for name in ("began s", "took s"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("task", "name", "status", "reason"):
        table.add_column(name)
    for t in tasks:
        style = "" if t.status == "succeeded" else "red"
        cells = (f"{t.began_s:.2f}", f"{t.took_s:.2f}", t.goal, t.name, t.status)
        table.add_row(*cells, f"{t.code}: {t.reason}" if t.code else t.reason, style=style)
    return table


def _command_table(commands: Sequence[CommandRow]) -> Table:
    from rich.table import Table

    table = Table(title="commands", title_justify="left", box=None, pad_edge=False)
    for name in ("at s", "command", "age ms"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("task", "what", "verdict", "why"):
        table.add_column(name)
    for c in commands:
        age = "-" if c.age_ms < 0 else f"{c.age_ms:.0f}"
        cells = (f"{c.at_s:.3f}", f"{c.source} #{c.seq}", age, c.title or c.task, c.what, c.verdict)
        why = f"{', '.join(c.codes)}: {c.sentence}" if c.codes else ""
        table.add_row(*cells, why, style="red" if c.failed else "")
    return table


def _everything(
    found: Trace, tasks: Sequence[TaskRow], commands: Sequence[CommandRow]
) -> dict[str, Any]:
    return {
        "meta": {k: v for k, v in found.meta.items() if k != "dataflow"},
        "summary": found.summary,
        "torn_bytes": found.torn_bytes,
        "tasks": [asdict(t) for t in tasks],
        "commands": [asdict(c) for c in commands],
    }
