"""`interlock profile`: what each edge of a run cost, from its trace or while it runs."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.table import Table

    from interlock.operators.budgets import Budget
    from interlock.operators.inference import Part
    from interlock.operators.latency import Edge

#: Width of a terminal that shows every column, in characters.
WIDE = 150
#: Columns that a narrower one leaves out.
EXTRA = ("rate_hz", "p95_ms", "max_ms", "jitter_ms", "age_p50_ms")


@click.command()
@click.argument("trace", required=False, type=click.Path(path_type=Path))
@click.option("--live", is_flag=True, help="Follow a run that goes on; ends with it.")
@click.option("--seconds", type=click.FloatRange(min=0), help="Follow for this long at most.")
@click.option("--budgets", type=click.Path(path_type=Path), help="YAML file with edge budgets.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write figures here.")
@click.option("--html", "html_file", type=click.Path(path_type=Path), help="Write a page here.")
@click.option("--runs", default="runs", type=click.Path(path_type=Path), help="Folder of runs.")
def profile(
    trace: Path | None,
    live: bool,
    seconds: float | None,
    budgets: Path | None,
    json_file: Path | None,
    html_file: Path | None,
    runs: Path,
) -> None:
    """Show rate, latency, jitter, losses and data age of every edge of TRACE.

    TRACE is the folder of a run; without it, the newest one. With a served policy also what each
    part of its inferences took. A broken budget is named and the
    exit code is 1.
    """
    from interlock.operators.budgets import read_budgets, violations
    from interlock.operators.inference import measure_inferences
    from interlock.operators.latency import measure
    from interlock.operators.profile_page import page
    from interlock.operators.trace import Trace, newest_run

    limits = read_budgets(budgets) if budgets else {}
    folder = trace or newest_run(runs)
    if live:
        _follow(folder, limits, seconds)
    found = Trace(folder)
    edges = measure(found)
    parts = measure_inferences(found)
    broken = violations(edges, limits)
    if not live:
        _print(edges, broken, parts)
    if json_file:
        _write(json_file, json.dumps(_figures(found.meta, edges, broken, parts), indent=2) + "\n")
    if html_file:
        _write(html_file, page(found.meta, edges, broken, parts))
        click.echo(f"page: {html_file}")
    if broken:
        raise SystemExit(1)


def _follow(folder: Path, limits: Mapping[str, Budget], seconds: float | None) -> None:
    from rich.console import Console, Group
    from rich.live import Live
    from rich.text import Text

    from interlock.operators.budgets import violations
    from interlock.operators.inference import measure_inferences
    from interlock.operators.latency import measure
    from interlock.operators.trace import Trace

    until = time.monotonic() + (seconds if seconds is not None else float("inf"))
    with Live(console=Console(markup=False), refresh_per_second=2) as screen:
        try:
            while True:
                trace = Trace(folder)
                edges = measure(trace)
                lines = [Text(line, style="red") for line in violations(edges, limits)]
                parts = measure_inferences(trace)
                tables = [table(edges, width=screen.console.width)]
                tables += [part_table(parts)] if parts else []
                screen.update(Group(*tables, *lines))
                if trace.summary or time.monotonic() >= until:
                    return
                time.sleep(1.0)
        except KeyboardInterrupt:
            return


def _print(edges: Sequence[Edge], broken: Sequence[str], parts: Sequence[Part]) -> None:
    from rich.console import Console

    # A pipe has no width of its own: never cut a figure short.
    console = Console(width=None if sys.stdout.isatty() else WIDE, markup=False)
    console.print(table(edges, width=console.width))
    if parts:
        console.print(part_table(parts))
    for sentence in broken:
        click.echo(f"budget: {sentence}", err=True)


def table(edges: Sequence[Edge], *, width: int) -> Table:
    """Return the figures as a table; a narrow terminal gets the columns that matter most."""
    from rich.table import Table

    from interlock.operators.profile_page import COLUMNS, cells

    found = Table(box=None, pad_edge=False)
    found.add_column("edge", no_wrap=True)
    shown = [i for i, column in enumerate(COLUMNS) if width >= WIDE or column[1] not in EXTRA]
    for i in shown:
        found.add_column(COLUMNS[i][0], justify="right", no_wrap=True)
    for edge in edges:
        figures = cells(edge)
        found.add_row(edge.name, *(figures[i] for i in shown))
    return found


def part_table(parts: Sequence[Part]) -> Table:
    """Return what the inferences of a served policy cost, part by part."""
    from rich.table import Table

    from interlock.operators.profile_page import PARTS, part_cells

    found = Table(box=None, pad_edge=False)
    found.add_column("inference", no_wrap=True)
    for title, _, _ in PARTS:
        found.add_column(title, justify="right", no_wrap=True)
    for part in parts:
        found.add_row(part.name, *part_cells(part))
    return found


def _figures(
    meta: Mapping[str, object],
    edges: Sequence[Edge],
    broken: Sequence[str],
    parts: Sequence[Part],
) -> dict[str, object]:
    return {
        "run_id": meta.get("run_id"),
        "versions": meta.get("versions"),
        "seed": meta.get("seed"),
        "edges": [edge.to_json(points=True) for edge in edges],
        "inferences": [part.to_json() for part in parts],
        "violations": list(broken),
    }


def _write(path: Path, text: str) -> None:
    from interlock.operators.trace import TraceError

    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise TraceError(f"cannot write {path}: {error.strerror}. Choose another file.") from error
