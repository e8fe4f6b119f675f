"""Write a report as text and as one HTML page with every trial and its video."""

from __future__ import annotations

import os
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from interlock.operators.statistics import Interval
    from interlock.trials.report import Comparison, Row
    from interlock.trials.results import Trial

HEAD = ("group", "solved", "rate", "95 % interval", "of all attempted", "not scored")
STYLE = (
    "body{font:15px system-ui;margin:2em auto;max-width:70em;padding:0 1em}"
    "table{border-collapse:collapse;width:100%}td,th{padding:.3em .6em;text-align:left;"
    "border-bottom:1px solid #ddd}video{width:240px}.bad{color:#a00}.ok{color:#060}"
)


def text_lines(rows: Sequence[Row], comparisons: Sequence[Comparison]) -> list[str]:
    """Return the report as lines of text."""
    table = [HEAD, *(_cells(row) for row in rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(HEAD))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in table]
    return [line.rstrip() for line in lines] + [compare_line(c) for c in comparisons]


def compare_line(comparison: Comparison) -> str:
    """Return one comparison as a sentence."""
    pair = f"{comparison.first} against {comparison.second}"
    missing = comparison.only_first + comparison.only_second
    note = f" ({missing} trials only one of them has)" if missing else ""
    if comparison.unlike:
        return f"{pair}: not comparable, protocols differ in {', '.join(comparison.unlike)}{note}"
    if comparison.paired is None:
        return f"{pair}: no shared trials{note}"
    paired = comparison.paired
    return (
        f"{pair}: {paired.difference.value:+.1%} on {paired.difference.n} shared trials, "
        f"95 % interval {paired.difference.low:+.1%} to {paired.difference.high:+.1%}, "
        f"McNemar p = {paired.p_value:.3g}{note}"
    )


def html_page(
    rows: Sequence[Row], comparisons: Sequence[Comparison], trials: Sequence[Trial], page: Path
) -> str:
    """Return the page; videos are linked relative to where it lies."""
    head = "".join(f"<th>{escape(name)}</th>" for name in HEAD)
    body = "".join(_tr(_cells(row)) for row in rows)
    pairs = "".join(f"<li>{escape(compare_line(c))}</li>" for c in comparisons)
    each = "".join(_trial_row(trial, page.parent) for trial in trials)
    return (
        f"<!doctype html><meta charset=utf-8><title>Trials</title><style>{STYLE}</style>"
        f"<h1>Trials</h1><table><tr>{head}</tr>{body}</table><ul>{pairs}</ul>"
        "<h2>Every trial</h2><table><tr><th>trial</th><th>by</th><th>reward</th><th>outcome</th>"
        f"<th>steps</th><th>s</th><th>protocol</th><th>video</th></tr>{each}</table>\n"
    )


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.group,
        f"{row.solved}/{row.scored}" if row.scored else "unmeasured",
        f"{row.rate.value:.1%}" if row.rate else "unmeasured",
        _interval(row.rate),
        f"{row.solved}/{row.attempted} ({row.rate_of_all.value:.1%})",
        str(row.attempted - row.scored),
    )


def _interval(interval: Interval | None) -> str:
    return f"{interval.low:.1%} to {interval.high:.1%}" if interval else "-"


def _tr(cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"


def _trial_row(trial: Trial, folder: Path) -> str:
    result = trial.result
    link = os.path.relpath(trial.folder, folder)
    state = trial.distrust or (result["exception"] or {}).get("message") or result["outcome"]
    video = trial.folder / "video.mp4"
    shown = f'<video controls preload=none src="{escape(link)}/video.mp4"></video>'
    reward = "not scored" if not trial.scored else f"{result['reward']:g}"
    colour = "ok" if trial.solved else "bad"
    cells = (
        f'<a href="{escape(link)}/">{escape(trial.key)}</a>',
        escape(trial.label),
        f'<span class="{colour}">{reward}</span>',
        escape(str(state)),
        str(result["steps"]),
        f"{result['wall_s']:.1f}",
        escape(trial.config["fingerprint"]),
        shown if video.exists() else "",
    )
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
