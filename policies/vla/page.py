"""The page of `interlock policy check`: one HTML file, nothing loaded from elsewhere."""

from __future__ import annotations

import base64
import html
from typing import TYPE_CHECKING

import numpy as np

from interlock.operators.images import encode_png

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlock.policies.vla.check import Look, Track
    from interlock.policies.vla.probe import Probe

_WIDTH, _HEIGHT, _MARGIN = 300, 110, 8

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 68rem; color: #1a1c20; }
h1 { font-size: 1.4rem } h2 { font-size: 1.05rem; margin-top: 2rem }
figure { display: inline-block; margin: 0 1rem 1rem 0; vertical-align: top }
figcaption { font-size: 12px; color: #555; max-width: 300px }
img { image-rendering: pixelated; border: 1px solid #ccc; max-width: 300px }
table { border-collapse: collapse } td, th { padding: 2px 12px 2px 0; text-align: left }
td.n { text-align: right; font-variant-numeric: tabular-nums }
.bad { color: #b00020 } .good { color: #1b6e33 } svg { background: #f6f7f9 }
"""


def page(look: Look, probes: Sequence[Probe] = ()) -> str:
    """Return the page as HTML text."""
    preset = look.preset
    parts = [
        f"<h1>{_text(preset.name)} on {_text(look.robot.robot)}</h1>",
        f"<p>{_text(preset.doc)}. Wire {_text(preset.wire.kind)} at "
        f"{_text(preset.wire.url)}; prompt: “{_text(look.snapshot.prompt)}”.</p>",
        "<h2>What the policy sees</h2>",
        *_pictures(look),
        *_states(look),
        *_answer(look),
        *_probes(probes),
        "<h2>Time</h2>",
        _table([(name, f"{value:.2f} ms") for name, value in look.timings_ms.items()]),
    ]
    title = f"policy check: {_text(preset.name)}"
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>"
        f"<style>{_STYLE}</style>\n" + "\n".join(parts) + "\n</html>\n"
    )


def _pictures(look: Look) -> list[str]:
    found = []
    for key, picture in look.pictures.items():
        field = look.preset.observation.fields[key]
        camera = look.preset.camera(str(field.camera))
        turned = f"turned {field.rotate_deg}°, flip {field.flip}, fit {field.fit or 'none'}"
        sent = f"{field.colour}, {field.layout}, {field.dtype}, {field.encoding}"
        data = base64.b64encode(encode_png(picture)).decode()
        found.append(
            f'<figure><img alt="{_text(key)}" src="data:image/png;base64,{data}">'
            f"<figcaption><b>{_text(key)}</b> ← camera {_text(camera)}<br>{turned}; "
            f"{picture.shape[1]}x{picture.shape[0]}, sent as {sent}</figcaption></figure>"
        )
    return found or ["<p>no pictures</p>"]


def _states(look: Look) -> list[str]:
    found = []
    for key, numbers in look.state.items():
        found.append(f"<h2>{_text(key)}</h2>")
        found.append(_table([(label, f"{value:.5g}") for label, value in numbers]))
    return found


def _answer(look: Look) -> list[str]:
    if look.chunk is None:
        return ["<h2>Answer</h2><p>The server was not asked.</p>"]
    rows, period_ms = len(look.chunk.rows), look.chunk.period_ns / 1e6
    notes = look.notes()
    verdict = (
        "".join(f'<li class="bad">{_text(note)}</li>' for note in notes)
        or '<li class="good">every row is within the robot\'s limits</li>'
    )
    return [
        f"<h2>Answer: {rows} rows, {period_ms:.0f} ms each, decoded</h2>",
        f"<ul>{verdict}</ul>",
        *(_plot(track) for track in look.tracks),
    ]


def _plot(track: Track) -> str:
    """Return a line from where the robot is, with dashed lines at the limits in reach."""
    values = track.values
    low, high = float(np.min(values)), float(np.max(values))
    reach = max(high - low, 1e-3)
    limits = [
        x for x in (track.low, track.high) if x is not None and low - reach < x < high + reach
    ]
    low, high = min([low, *limits]) - 0.1 * reach, max([high, *limits]) + 0.1 * reach

    def y(value: float) -> float:
        return _MARGIN + (_HEIGHT - 2 * _MARGIN) * (high - value) / (high - low)

    xs = _MARGIN + (_WIDTH - 2 * _MARGIN) * np.arange(len(values)) / max(1, len(values) - 1)
    points = " ".join(f"{x:.1f},{y(v):.1f}" for x, v in zip(xs, values, strict=True))
    lines = "".join(
        f'<line x1="0" x2="{_WIDTH}" y1="{y(x):.1f}" y2="{y(x):.1f}" '
        'stroke="#b00020" stroke-dasharray="4 3"/>'
        for x in limits
    )
    bounds = "" if track.low is None else f"; limits {track.low:.4g} to {track.high:.4g}"
    return (
        f'<figure><svg width="{_WIDTH}" height="{_HEIGHT}" role="img">{lines}'
        f'<polyline points="{points}" fill="none" stroke="#1f5fbf" stroke-width="1.5"/>'
        f'<circle cx="{xs[0]:.1f}" cy="{y(values[0]):.1f}" r="3" fill="#1f5fbf"/></svg>'
        f"<figcaption>{_text(track.name)}: {values[0]:.4g} → {values[-1]:.4g}{bounds}"
        "</figcaption></figure>"
    )


def _probes(probes: Sequence[Probe]) -> list[str]:
    if not probes:
        return []
    rows = [
        f"<tr><td>{p.column}</td><td>{_text(p.target)}</td><td>{_text(p.expected)}</td>"
        f'<td>{_text(p.measured)}</td><td class="{"good" if p.agrees else "bad"}">'
        f"{'agrees' if p.agrees else 'differs'}</td></tr>"
        for p in probes
    ]
    return [
        "<h2>Each column tried a little, in simulation</h2>",
        "<table><tr><th>column<th>target<th>contract<th>measured<th></tr>"
        + "".join(rows)
        + "</table>",
    ]


def _table(rows: Sequence[tuple[str, str]]) -> str:
    cells = "".join(f'<tr><td>{_text(n)}</td><td class="n">{_text(v)}</td></tr>' for n, v in rows)
    return f"<table>{cells}</table>"


def _text(value: object) -> str:
    return html.escape(str(value))
