"""Concurrency: each decision takes 3 s; thinking before acting against thinking while acting."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING, Any

import click

from interlock.benchmarks.arena import Outcome, play
from interlock.benchmarks.report import finish, json_option

if TYPE_CHECKING:
    from pathlib import Path

PROGRAMS = ("think_then_act", "think_ahead")


@click.command("concurrency")
@json_option
def command(json_file: Path | None) -> None:
    """Measure how long two cups take when every decision takes three seconds."""
    finish(rows(), json_file=json_file, seed=0)


def rows() -> list[dict[str, Any]]:
    """Return one row per program."""
    with ProcessPoolExecutor(max_workers=2) as pool:
        outcomes = list(pool.map(play, PROGRAMS))
    return [_row(name, outcome) for name, outcome in zip(PROGRAMS, outcomes, strict=True)]


def _row(name: str, outcome: Outcome) -> dict[str, Any]:
    return {
        "name": name,
        "n": 1,
        "successes": int(outcome.success),
        "completion_s": round(outcome.completion_s, 3),
        "idle_s": round(outcome.idle_s, 3),
    }
