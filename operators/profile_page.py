"""The profile of a run as one HTML file: a table, and a latency plot per edge, nothing to load."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from interlock.operators.inference import Part
    from interlock.operators.latency import Edge

WIDTH, HEIGHT, LEFT, RIGHT, BOTTOM = 720, 140, 64, 650, 20

STYLE = """
:root { color-scheme: light dark; --line: #2a6fdb; --bad: #c0392b; --grid: #8884; }
body { font: 14px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem;
       padding: 0 1rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1rem; margin: 1.6rem 0 .2rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid var(--grid); }
th:first-child, td:first-child { text-align: left; }
.bad { color: var(--bad); font-weight: 600; }
svg { width: 100%; max-width: 720px; height: auto; }
svg text { font: 10px system-ui, sans-serif; fill: currentColor; }
.scroll { overflow-x: auto; }
"""

COLUMNS = (
    ("used", "count", "{:d}"),
    ("rate Hz", "rate_hz", "{:.1f}"),
    ("p50 ms", "p50_ms", "{:.2f}"),
    ("p95 ms", "p95_ms", "{:.2f}"),
    ("p99 ms", "p99_ms", "{:.2f}"),
    ("max ms", "max_ms", "{:.2f}"),
    ("jitter ms", "jitter_ms", "{:.2f}"),
    ("lost", "drops", "{:d}"),
    ("unused", "unused", "{:d}"),
    ("age p50 ms", "age_p50_ms", "{:.1f}"),
    ("age max ms", "age_max_ms", "{:.1f}"),
)


def cells(edge: Edge) -> list[str]:
    """Return the figures of an edge as text, in the order of ``COLUMNS``; - where unmeasured."""
    values = [(getattr(edge, name), form) for _, name, form in COLUMNS]
    return [form.format(value) if value >= 0 else "-" for value, form in values]


#: Columns of the table of inferences; they are there when a served policy ran.
PARTS = (
    ("count", "count", "{:d}"),
    ("p50 ms", "p50_ms", "{:.2f}"),
    ("p95 ms", "p95_ms", "{:.2f}"),
    ("p99 ms", "p99_ms", "{:.2f}"),
    ("max ms", "max_ms", "{:.2f}"),
)


def part_cells(part: Part) -> list[str]:
    """Return the figures of a part of the inferences as text, in the order of ``PARTS``."""
    return [form.format(getattr(part, name)) for _, name, form in PARTS]


def page(
    meta: Mapping[str, Any],
    edges: Sequence[Edge],
    broken: Sequence[str],
    parts: Sequence[Part] = (),
) -> str:
    """Return the whole page.

    Args:
        meta: What was run, from ``meta.json``.
        edges: Measured edges.
        broken: One sentence per broken budget.
        parts: Parts of the inferences of a served policy.
    """
    run = escape(str(meta.get("run_id", "unknown run")))
    head = "".join(f"<th>{name}</th>" for name, _, _ in COLUMNS)
    rows = "".join(_row(edge, broken) for edge in edges)
    items = "".join(f"<li class=bad>{escape(sentence)}</li>" for sentence in broken)
    plots = "".join(f"<h2>{escape(e.name)}</h2>{plot(e)}" for e in edges if e.points)
    facts = (
        f"clock {meta.get('clock', '?')}, seed {meta.get('seed', '?')}, {meta.get('started', '')}"
    )
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>Profile of {run}</title>"
        "<meta name=viewport content='width=device-width,initial-scale=1'>"
        f"<style>{STYLE}</style><h1>Profile of {run}</h1><p>{escape(facts)}</p>"
        f"<ul>{items}</ul><div class=scroll><table><tr><th>edge</th>{head}</tr>{rows}</table></div>"
        f"<p>Latency from sending to receiving over the run; of each group of messages the largest."
        f"</p>{plots}{_inferences(parts)}</html>\n"
    )


def _inferences(parts: Sequence[Part]) -> str:
    if not parts:
        return ""
    head = "".join(f"<th>{name}</th>" for name, _, _ in PARTS)
    rows = "".join(
        f"<tr><td>{escape(p.name)}</td>{''.join(f'<td>{c}</td>' for c in part_cells(p))}</tr>"
        for p in parts
    )
    plots = "".join(f"<h2>{escape(p.name)}</h2>{plot(p)}" for p in parts)
    return (
        "<h1>Inferences of the policy</h1><div class=scroll><table>"
        f"<tr><th>part</th>{head}</tr>{rows}</table></div>{plots}"
    )


def _row(edge: Edge, broken: Sequence[str]) -> str:
    bad = any(sentence.startswith(f"{edge.name}:") for sentence in broken)
    figures = "".join(f"<td>{cell}</td>" for cell in cells(edge))
    return f"<tr{' class=bad' if bad else ''}><td>{escape(edge.name)}</td>{figures}</tr>"


def plot(edge: Edge | Part) -> str:
    """Return an SVG of latency in ms over time in s, with its median and p99 as lines."""
    seconds = [x for x, _ in edge.points]
    top = max([1e-3, *(y for _, y in edge.points)]) * 1.05
    start, span = seconds[0], max(seconds[-1] - seconds[0], 1e-9)

    def at(x: float, y: float) -> tuple[float, float]:
        across = LEFT + (x - start) / span * (RIGHT - LEFT)
        return across, (1 - max(y, 0.0) / top) * (HEIGHT - BOTTOM - 8) + 8

    dots = "".join(_dot(*at(x, y)) for x, y in edge.points)
    levels = (("p50", edge.p50_ms), ("p99", edge.p99_ms))
    # The two labels stand at either end, so that they never cover each other.
    lines = _level(at(start, 0.0)[1], "0", LEFT - 4) + "".join(
        _level(at(start, y)[1], f"{name} {y:.2f}", x)
        for (name, y), x in zip(levels, (LEFT - 4, WIDTH - 4), strict=True)
    )
    label = f"latency of {escape(edge.name)}"
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{label}">{lines}{dots}'
        f'<text x="{LEFT}" y="{HEIGHT - 5}">{start:.1f} s</text>'
        f'<text x="{RIGHT}" y="{HEIGHT - 5}" text-anchor="end">{seconds[-1]:.1f} s</text>'
        '<text x="2" y="10">ms</text></svg>'
    )


def _dot(x: float, y: float) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="1.3" fill="var(--line)"/>'


def _level(y: float, label: str, x: float) -> str:
    return (
        f'<line x1="{LEFT}" x2="{RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="var(--grid)"/>'
        f'<text x="{x}" y="{y - 3:.1f}" text-anchor="end">{label}</text>'
    )
