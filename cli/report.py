"""`interlock report`: what folders of trials say, with intervals and like-for-like comparisons."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

import click


@click.command("report")
@click.argument("folders", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--by", default="label", show_default=True, help="label, harness, model, suite, task."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--html", type=click.Path(path_type=Path), help="Also write a page with videos.")
def report(folders: tuple[Path, ...], by: str, as_json: bool, html: Path | None) -> None:
    """Summarise and compare trials; unlike protocols are flagged, not averaged away."""
    from interlock.trials.report import compare, distrusted, summarise
    from interlock.trials.report_page import html_page, text_lines
    from interlock.trials.results import read_trials

    trials = read_trials(folders)
    if not trials:
        click.echo("no finished trials in these folders", err=True)
        sys.exit(1)
    rows, pairs = summarise(trials, by.split(",")), compare(trials)
    if as_json:
        data = {
            name: [dataclasses.asdict(x) for x in xs]
            for name, xs in (("groups", rows), ("comparisons", pairs))
        }
        click.echo(json.dumps(data, indent=1))
    else:
        click.echo("\n".join(text_lines(rows, pairs)))
    for trial in distrusted(trials):
        click.echo(f"not counted: {trial.distrust}", err=True)
    if html:
        html.write_text(html_page(rows, pairs, trials, html), encoding="utf-8")
        click.echo(f"page: {html}", err=True)
    sys.exit(0 if any(trial.scored for trial in trials) else 1)
