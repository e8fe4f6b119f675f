"""`interlock demo`: things to watch, each also a measurement."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.group()
def demo() -> None:
    """Watch the product do something, or measure it with --benchmark."""


@demo.command("cup-nudge")
@click.option("--benchmark", is_flag=True, help="24 pushes per program instead of one to watch.")
@click.option("--program", "programs", multiple=True, help="Only these programs.")
@click.option("--json", "json_file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--at", "at_s", default=0.59, show_default=True, help="When to push, in s.")
@click.option("--degrees", default=0, show_default=True, help="Which way to push, from +x.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("cup-nudge.gif"))
def cup_nudge(
    benchmark: bool,
    programs: tuple[str, ...],
    json_file: Path | None,
    at_s: float,
    degrees: int,
    out: Path,
) -> None:
    """The cup is pushed 8 cm while the arm reaches for it."""
    from interlock.benchmarks.cup_nudge import PROGRAMS, Nudge, run_program
    from interlock.messages.errors import SettingsError, nearest

    for name in programs:
        if name not in PROGRAMS:
            raise SettingsError(f"no program {name!r}; {nearest(name, PROGRAMS)}")
    if benchmark:
        from interlock.benchmarks.report import finish

        rows = [run_program(name) for name in programs or PROGRAMS]
        finish(rows, json_file=json_file, seed=0)
        return
    _watch(programs or ("task_based",), Nudge(at_s=at_s, degrees=degrees), out, json_file)


def _watch(programs: tuple[str, ...], nudge: object, out: Path, json_file: Path | None) -> None:
    from interlock.benchmarks.cup_nudge import Nudge
    from interlock.benchmarks.film import film

    assert isinstance(nudge, Nudge)
    shown = []
    for name in programs:
        path = out if len(programs) == 1 else out.with_stem(f"{out.stem}-{name}")
        outcome = film(name, (nudge.disturbance(),), path)
        for line in outcome.told:
            click.echo(f"  {line}")
        verdict = "the cup is on the tray" if outcome.success else "the cup is not on the tray"
        click.echo(f"{name}: {verdict} after {outcome.completion_s:.2f} s; film {path}")
        shown.append({"name": name, "success": outcome.success, "film": str(path)})
    if json_file is not None:
        json_file.write_text(json.dumps({"rows": shown}, indent=1) + "\n", encoding="utf-8")
