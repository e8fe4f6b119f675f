"""Latency of every edge while a dataflow runs, from the stamps that pass by, in bounded memory.

Inputs are named ``<node>_<output>``, so that a basis entry is found again.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.messages import MessageError, Stamp

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Messages per output whose sending time is remembered, to find what a basis entry stands for.
REMEMBERED = 4096
#: Latencies kept per edge between two tables.
KEPT = 20_000
#: Outputs that are told apart; a sender that makes up names must not fill the memory.
MAX_OUTPUTS = 500


class LatencyStream:
    """Collects stamps and renders a table every few seconds.

    Args:
        every_s: Time between two tables, in s.
    """

    def __init__(self, every_s: float) -> None:
        if not every_s > 0:
            raise ValueError(f"every_s: expected a time above 0 s, got {every_s}")
        self._every_ns = int(every_s * 1e9)
        self._due_ns: int | None = None
        self._sent: dict[str, OrderedDict[tuple[int, int], int]] = defaultdict(OrderedDict)
        self._latency: dict[str, list[int]] = defaultdict(list)
        self._age: dict[str, list[int]] = defaultdict(list)
        self.unstamped = 0

    def take(self, input_id: str, metadata: Mapping[str, Any], now_ns: int) -> str | None:
        """Take in one message; return a table when one is due."""
        try:
            self._measure(input_id, Stamp.from_metadata(metadata, where=input_id), now_ns)
        except MessageError:
            self.unstamped += 1  # a timer, or a node that is not ours
        if self._due_ns is None:
            self._due_ns = now_ns + self._every_ns
        if now_ns < self._due_ns:
            return None
        self._due_ns = now_ns + self._every_ns
        return self._table()

    def _measure(self, input_id: str, stamp: Stamp, now_ns: int) -> None:
        if len(self._sent) >= MAX_OUTPUTS:
            return
        output = input_id.removeprefix(f"{stamp.source}_")
        sent = self._sent[f"{stamp.source}/{output}"]
        sent[stamp.seq, stamp.observed_ns] = stamp.sent_ns
        if len(sent) > REMEMBERED:
            sent.popitem(last=False)
        self._note(f"{stamp.source}/{output} -> here", now_ns - stamp.sent_ns)
        for b in stamp.basis:
            earlier = self._sent.get(f"{b.source}/{b.output}")
            at_ns = earlier.get((b.seq, b.observed_ns)) if earlier else None
            edge = f"{b.source}/{b.output} -> {stamp.source}"
            if at_ns is not None:
                self._note(edge, b.received_ns - at_ns, stamp.sent_ns - b.observed_ns)

    def _note(self, edge: str, latency_ns: int, age_ns: int | None = None) -> None:
        if len(self._latency[edge]) < KEPT:
            self._latency[edge].append(latency_ns)
            if age_ns is not None:
                self._age[edge].append(age_ns)

    def _table(self) -> str:
        """Return the table of what passed by since the last one."""
        lines = [f"{'edge':<44} {'rate Hz':>8} {'p50 ms':>8} {'p99 ms':>8} {'age max':>8}"]
        for edge, values in sorted(self._latency.items()):
            p50, p99 = np.percentile(np.array(values) / 1e6, (50, 99))
            ages = self._age.get(edge)
            age = f"{max(ages) / 1e6:8.1f}" if ages else f"{'-':>8}"
            rate_hz = len(values) * 1e9 / self._every_ns
            lines.append(f"{edge:<44} {rate_hz:8.1f} {p50:8.2f} {p99:8.2f} {age}")
        self._latency.clear()
        self._age.clear()
        return "\n".join(lines)
