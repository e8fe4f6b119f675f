"""`interlock bench safety|stopping|crash|stale|ablation`: suites with and without the Gate."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import click

from interlock.benchmarks.report import finish, json_option

if TYPE_CHECKING:
    from pathlib import Path


def _command(name: str, variants: int, summary: str) -> click.Command:
    @click.command(name, help=summary)
    @click.option("--variants", default=variants, show_default=True, help="Variants per row.")
    @click.option("--seed", default=0, show_default=True)
    @json_option
    def run(variants: int, seed: int, json_file: Path | None) -> None:
        from interlock.benchmarks.suites.rows import rows

        suite: Any = importlib.import_module(f"interlock.benchmarks.suites.{name}")
        finish(rows(suite.trials(variants=variants, seed=seed)), json_file=json_file, seed=seed)

    return run


safety = _command("safety", 24, "Buggy programs: harm with and without the Gate; safe ones too.")
stopping = _command("stopping", 24, "Cancel, a second agent, and an operator's stop.")
crash = _command("crash", 24, "An agent or the Gate dies or freezes in mid-motion.")
stale = _command("stale", 24, "A sensor that falls silent or drops out beside a person's hand.")
ablation = _command("ablation", 24, "One part of the Gate off: its failures come back.")
