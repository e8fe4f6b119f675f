"""What the inferences of a served policy cost, part by part, from the events that its node sent.

A policy node sends one ``inference`` event per answer. The first of a connection is a warm-up: it
has a row of its own and counts in no other.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.messages import Event

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from interlock.operators.trace.reader import Trace

KIND = "inference"
WARMUP = "warm-up round trip"
AGE = "age at execution"
#: Parts in the order in which they happen; the server's own keys come after ``network``.
PARTS = {"preprocess_ms": "preprocessing", "roundtrip_ms": "round trip", "network_ms": "network"}
AFTER = {"postprocess_ms": "postprocessing", "age_ms": AGE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of the inferences of one policy node.

    Attributes:
        source: The node.
        part: What took the time: preprocessing, round trip, network, ``server <its key>``,
            postprocessing, age at execution, or warm-up round trip.
        count: Inferences that say it.
        p50_ms: Median, in ms.
        p95_ms: 95th percentile, in ms.
        p99_ms: 99th percentile, in ms.
        max_ms: Largest, in ms.
        points: When each was reported, in s of the run, and how long it took, in ms.
    """

    source: str
    part: str
    count: int
    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float
    points: tuple[tuple[float, float], ...] = field(default=(), repr=False, compare=False)

    @property
    def name(self) -> str:
        """The part with its node, e.g. ``policy: network``."""
        return f"{self.source}: {self.part}"

    def to_json(self) -> dict[str, Any]:
        """Return the figures and the points as JSON."""
        return asdict(self)


def measure_inferences(trace: Trace) -> list[Part]:
    """Return the parts of the inferences of every policy node; none without a served policy."""
    start_ns = trace.span_ns()[0]
    series: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for received in trace.of(Event):
        if received.message.kind != KIND:
            continue
        found = series.setdefault(received.stamp.source, {})
        at_s = (received.stamp.sent_ns - start_ns) / 1e9
        for part, value_ms in _parts(_data(received.message)):
            found.setdefault(part, []).append((at_s, value_ms))
    return [
        _part(source, part, found[part])
        for source, found in sorted(series.items())
        for part in sorted(found, key=_order)
    ]


def _data(event: Event) -> Mapping[str, Any]:
    """Return what an event says; nothing when it is not an object."""
    try:
        data = json.loads(event.data)
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def _parts(data: Mapping[str, Any]) -> Iterable[tuple[str, float]]:
    if data.get("warmup"):
        named: dict[str, Any] = {WARMUP: data.get("roundtrip_ms")}
    else:
        server = data.get("server_ms")
        keys = server if isinstance(server, dict) else {}
        named = {title: data.get(key) for key, title in (PARTS | AFTER).items()}
        named |= {f"server {key}": value for key, value in keys.items()}
    for part, value in named.items():
        if isinstance(value, int | float) and np.isfinite(value):
            yield part, float(value)


def _order(part: str) -> tuple[int, str]:
    known = [WARMUP, *PARTS.values(), "", *AFTER.values()]
    return known.index(part if part in known else ""), part


def _part(source: str, part: str, points: list[tuple[float, float]]) -> Part:
    values = np.array([value for _, value in points])
    p50, p95, p99 = (float(x) for x in np.percentile(values, (50, 95, 99)))
    return Part(
        source=source,
        part=part,
        count=len(points),
        p50_ms=p50,
        p95_ms=p95,
        p99_ms=p99,
        max_ms=float(values.max()),
        points=tuple(points),
    )
