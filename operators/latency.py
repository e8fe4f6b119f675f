"""How long each edge took, from the stamps alone: latency, rate, jitter, drops, age at decision.

An edge is an output and one consumer of it. What a consumer used stands in the ``basis`` of the
messages that it sent, with the time at which it received it; so each edge is measured as its
consumer saw it. The edge to the trace itself covers every message.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.operators.trace.gaps import SeqCounter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from interlock.operators.trace.reader import Stream, Trace

#: Name of the consumer that stands for the trace.
TRACE = "trace"
#: Points of an edge kept for a plot.
POINTS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """Figures of one edge; -1 where nothing was measured.

    Attributes:
        source: Output, ``node/output``.
        consumer: Node that received it.
        count: Messages that the consumer used (the trace: received).
        rate_hz: Messages used per second, between the first and the last.
        p50_ms: Median time from sending to receiving, in ms.
        p95_ms: 95th percentile of it.
        p99_ms: 99th percentile of it.
        max_ms: Largest of it.
        jitter_ms: Mean change of latency from one message to the next, in ms.
        drops: Messages that never reached the trace: gaps in ``seq``.
        unused: Messages that the consumer never based anything on, between the first and the last
            that it used; expected where the newest wins, a loss where each one counts.
        age_p50_ms: Median age of the data when the consumer's decision was sent, in ms.
        age_max_ms: Largest of it.
    """

    source: str
    consumer: str
    count: int
    rate_hz: float
    p50_ms: float = -1.0
    p95_ms: float = -1.0
    p99_ms: float = -1.0
    max_ms: float = -1.0
    jitter_ms: float = -1.0
    drops: int = 0
    unused: int = 0
    age_p50_ms: float = -1.0
    age_max_ms: float = -1.0
    points: tuple[tuple[float, float], ...] = field(default=(), repr=False, compare=False)

    @property
    def name(self) -> str:
        """The edge as budgets name it, e.g. ``policy/command -> gate``."""
        return f"{self.source} -> {self.consumer}"

    def to_json(self, *, points: bool = False) -> dict[str, Any]:
        """Return the figures as JSON; with ``points``, time in s and latency in ms of each."""
        data = asdict(self)
        if not points:
            del data["points"]
        return data


@dataclass(slots=True)
class _Uses:
    """What one consumer used of one output: message -> when received; ages at each decision."""

    received: dict[tuple[int, int], int] = field(default_factory=dict)
    ages_ns: list[int] = field(default_factory=list)


def measure(trace: Trace) -> list[Edge]:
    """Return the figures of every edge, the ones to the trace last."""
    start_ns = trace.span_ns()[0]
    uses = _collect(trace)
    drops = {stream.name: _gaps(stream) for stream in trace.streams}
    sent = {s.name: _sent(s) for s in trace.streams if any(name == s.name for name, _ in uses)}
    edges = [
        _edge(source, consumer, found, sent.get(source, {}), drops.get(source, 0), start_ns)
        for (source, consumer), found in sorted(uses.items())
    ]
    return edges + [_trace_edge(s, drops[s.name], start_ns) for s in trace.streams if len(s)]


def _collect(trace: Trace) -> dict[tuple[str, str], _Uses]:
    uses: dict[tuple[str, str], _Uses] = defaultdict(_Uses)
    for stream in trace.streams:
        for batch in stream.batches:
            sent = batch.data.column("sent_ns").to_numpy()
            basis = batch.data.column("basis")
            rows = np.repeat(np.arange(len(batch)), basis.value_lengths().to_numpy())
            columns = [column.to_pylist() for column in basis.flatten().flatten()]
            for row, source, output, seq, observed_ns, received_ns in zip(
                rows.tolist(), *columns, strict=True
            ):
                use = uses[f"{source}/{output}", stream.source]
                use.received.setdefault((seq, observed_ns), received_ns)
                use.ages_ns.append(int(sent[row]) - observed_ns)
    return dict(uses)


def _sent(stream: Stream) -> dict[tuple[int, int], int]:
    """Return (seq, observed) -> sent; the pair is unique where ``seq`` repeats after a restart."""
    seq, observed, sent = (stream.column(n).tolist() for n in ("seq", "observed_ns", "sent_ns"))
    return dict(zip(zip(seq, observed, strict=True), sent, strict=True))


def _gaps(stream: Stream) -> int:
    counter = SeqCounter()
    seqs, sent = stream.column("seq").tolist(), stream.column("sent_ns").tolist()
    for seq, sent_ns in zip(seqs, sent, strict=True):
        counter.see(seq, sent_ns)
    return counter.gaps


def _edge(
    source: str,
    consumer: str,
    uses: _Uses,
    sent: dict[tuple[int, int], int],
    drops: int,
    start_ns: int,
) -> Edge:
    pairs = [(sent[key], at) for key, at in uses.received.items() if key in sent]
    pairs.sort()
    times = np.array(pairs, np.int64).reshape(-1, 2)
    ages = np.array(uses.ages_ns, np.int64) / 1e6
    first, last = (times[0, 0], times[-1, 0]) if len(times) else (0, 0)
    offered = sum(1 for at in sent.values() if first <= at <= last) if len(times) else 0
    return Edge(
        source=source,
        consumer=consumer,
        count=len(uses.received),
        drops=drops,
        unused=max(0, offered - len(times)),
        age_p50_ms=float(np.median(ages)) if ages.size else -1.0,
        age_max_ms=float(ages.max()) if ages.size else -1.0,
        **_figures(times[:, 0], times[:, 1], start_ns),
    )


def _trace_edge(stream: Stream, drops: int, start_ns: int) -> Edge:
    sent, received = stream.column("sent_ns"), stream.column("received_ns")
    return Edge(
        source=stream.name,
        consumer=TRACE,
        count=len(stream),
        drops=drops,
        **_figures(sent, received, start_ns),
    )


def _figures(sent: NDArray[np.int64], received: NDArray[np.int64], start_ns: int) -> dict[str, Any]:
    if not sent.size:
        return {"rate_hz": 0.0}
    latency = (received - sent) / 1e6
    span_s = float(received.max() - received.min()) / 1e9
    p50, p95, p99 = (float(x) for x in np.percentile(latency, (50, 95, 99)))
    step = max(1, -(-sent.size // POINTS))
    seconds = (sent - start_ns) / 1e9
    return {
        "rate_hz": (sent.size - 1) / span_s if span_s > 0 else 0.0,
        "p50_ms": p50,
        "p95_ms": p95,
        "p99_ms": p99,
        "max_ms": float(latency.max()),
        "jitter_ms": float(np.abs(np.diff(latency)).mean()) if sent.size > 1 else 0.0,
        "points": tuple(zip(*_peaks(seconds, latency, step), strict=True)),
    }


def _peaks(
    seconds: NDArray[np.float64], latency: NDArray[np.float64], step: int
) -> tuple[Sequence[float], Sequence[float]]:
    """Thin a curve and keep its peaks: the largest of every ``step`` messages."""
    starts = np.arange(0, latency.size, step)
    return seconds[starts].tolist(), np.maximum.reduceat(latency, starts).tolist()
