"""Plays action chunks: one target per control tick, and when to ask for the next chunk.

A chunk belongs to the ticket it was asked with. Clearing the player (reset, stop, refusal, a new
prompt) makes every older ticket void, so no action of the time before is ever played.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from typing import Literal

import numpy as np

from interlock.operators.chunk_mix import Array, Chunk, Columns, Seam, average
from interlock.operators.chunk_parts import ChunkCounts, Step, Ticket
from interlock.operators.chunk_settings import ChunkSettings

__all__ = ["Chunk", "ChunkPlayer", "ChunkSettings", "Columns", "Step", "Ticket"]

_LATENCIES_KEPT = 10


class ChunkPlayer:
    """Turns chunks at the policy's rate into targets at the control rate."""

    def __init__(
        self,
        settings: ChunkSettings,
        columns: Columns,
        *,
        speed: Array | None = None,
        lead_ns: int = 0,
    ) -> None:
        """Make an empty player.

        Args:
            settings: How chunks are executed.
            columns: What the columns of a chunk are.
            speed: The most to spend on seams, per column and s; None for no limit.
            lead_ns: From a target to its effect; a chunk that begins at rest begins so late.
        """
        self._lead_ns = lead_ns
        self._settings = settings
        self._columns = columns
        self._speed = speed
        self._epoch = 0
        self._ticket: Ticket | None = None
        self._chunks: list[Chunk] = []
        self._seam: Seam | None = None
        self._last: tuple[int, Array] | None = None
        self._held_since_ns: int | None = None
        self._latencies_ns: deque[int] = deque(maxlen=_LATENCIES_KEPT)
        self.counts = ChunkCounts()
        self.cleared_by = ""

    @property
    def latency_ns(self) -> int:
        """Expected time from asking to answer: the longest of the last ten."""
        guess = int(self._settings.latency_s * 1e9)
        return max(self._latencies_ns, default=guess)

    def clear(self, reason: str) -> None:
        """Forget every chunk and every question under way: reset, stop, refusal, new prompt."""
        self._close_books(self._last[0] if self._last else 0)
        self._epoch += 1
        self._ticket, self._seam, self._last, self._held_since_ns = None, None, None, None
        self._chunks = []
        self.cleared_by = reason

    def wants_chunk(self, now_ns: int) -> bool:
        """Return whether it is time to ask for a chunk."""
        if self._ticket is not None:
            return False
        if not self._chunks:
            return True
        newest = self._chunks[-1]
        lead_ns = 0 if self._settings.strategy == "open_loop" else self.latency_ns
        return now_ns + lead_ns >= newest.start_ns + self._replan_rows(newest) * newest.period_ns

    def ask(self, now_ns: int, observation_id: int) -> Ticket:
        """Note that a question is under way; the ticket comes back with its answer."""
        self._ticket = Ticket(epoch=self._epoch, asked_ns=now_ns, observation_id=observation_id)
        return self._ticket

    def fail(self, ticket: Ticket) -> None:
        """Note that a question will not be answered."""
        if ticket is self._ticket:
            self._ticket = None

    def add(self, ticket: Ticket, chunk: Chunk, now_ns: int, *, warmup: bool = False) -> bool:
        """Take the answer to a question; return False if the ticket is void.

        Rows whose time has passed while the model thought are skipped, unless the robot held
        still meanwhile. ``warmup`` leaves this latency out of the estimate.
        """
        if ticket is not self._ticket or ticket.observation_id != chunk.observation_id:
            self.counts.discarded += 1
            return False
        self._ticket = None
        if not warmup:
            self._latencies_ns.append(now_ns - ticket.asked_ns)
        chunk = dataclasses.replace(chunk, start_ns=self._start(chunk, now_ns))
        self._close_books(now_ns)
        keep = self._settings.ensemble_chunks - 1 if self._settings.averages else 0
        self._chunks = [*self._chunks[len(self._chunks) - keep :], chunk] if keep else [chunk]
        self._held_since_ns = None
        self.counts.chunks += 1
        if self._last is not None:
            self._seam = self._make_seam(*self._last)
        return True

    def next(self, now_ns: int) -> Step:
        """Return what to command now."""
        self._chunks = [c for c in self._chunks[:-1] if c.end_ns > now_ns] + self._chunks[-1:]
        if not self._chunks:
            return Step(kind="empty")
        newest = self._chunks[-1]
        if now_ns > self._until_ns(newest):
            return self._hold(newest, now_ns)
        target, opposite = self._value(now_ns)
        self.counts.opposite += opposite
        return self._step("play", self._with_seam(target, now_ns), now_ns, opposite=opposite)

    def ahead(self, start_ns: int, rows: int, period_ns: int) -> Array:
        """Return what will be commanded at ``start_ns`` plus 1, 2, ... periods; changes nothing.

        Only after a step of kind play or hold; where the chunk has run out its end is kept.

        Returns:
            Shape (rows, width).
        """
        until_ns = self._until_ns(self._chunks[-1])
        times = [start_ns + k * period_ns for k in range(1, rows + 1)]
        return np.stack([self._with_seam(self._value(min(t, until_ns))[0], t) for t in times])

    def committed(self, now_ns: int) -> Array:
        """Return the model's own rows that will be played before the next answer comes.

        A server that continues from them (real-time chunking) makes no seam; shape (n, width).
        """
        if not self._chunks:
            return np.zeros((0, 0))
        newest = self._chunks[-1]
        first = max(0, int(newest.position(now_ns)))
        last = int(np.ceil(newest.position(now_ns + self.latency_ns)))
        return newest.raw[first : max(first, last)]

    def _step(
        self, kind: Literal["play", "hold"], target: Array, now_ns: int, *, opposite: bool
    ) -> Step:
        self._last = (now_ns, target)
        newest = self._chunks[-1]
        return Step(
            kind=kind,
            target=target,
            observation_id=newest.observation_id,
            observed_ns=newest.observed_ns,
            opposite=opposite,
        )

    def _with_seam(self, target: Array, now_ns: int) -> Array:
        if self._seam is None:
            return target
        return self._columns.tidy(target + self._seam.left(now_ns), target)

    def _replan_rows(self, chunk: Chunk) -> int:
        wanted = self._settings.replan_steps or (1 if self._settings.averages else len(chunk.rows))
        return min(wanted, len(chunk.rows))

    def _until_ns(self, chunk: Chunk) -> int:
        """Return when the chunk must not be played any more."""
        if self._settings.strategy == "open_loop":
            return chunk.start_ns + self._replan_rows(chunk) * chunk.period_ns
        return chunk.end_ns

    def _start(self, chunk: Chunk, now_ns: int) -> int:
        """Return when the chunk's first period began: at its observation, plus time held since."""
        if self._last is None and self._held_since_ns is None:
            return now_ns + self._lead_ns
        held_ns = 0
        if self._chunks:
            ended_ns = self._until_ns(self._chunks[-1])
            held_ns = max(0, now_ns - max(ended_ns, chunk.observed_ns))
        return chunk.observed_ns + held_ns

    def _value(self, now_ns: int) -> tuple[Array, bool]:
        covering = [c for c in self._chunks[:-1] if c.end_ns > now_ns]
        values = [c.at(now_ns, self._columns) for c in (*covering, self._chunks[-1])]
        if not self._settings.averages or len(values) == 1:
            return values[-1], False
        here = self._last[1] if self._last is not None else self._chunks[-1].origin
        return average(values, self._settings, self._columns, here)

    def _hold(self, newest: Chunk, now_ns: int) -> Step:
        until_ns = self._until_ns(newest)
        if self._held_since_ns is None:
            self._held_since_ns = until_ns
            self.counts.ran_out += self._ticket is None or until_ns >= newest.end_ns
        if self._settings.on_empty == "stop" and until_ns >= newest.end_ns:
            return Step(kind="stop")
        target = self._with_seam(newest.at(until_ns, self._columns), now_ns)
        return self._step("hold", target, now_ns, opposite=False)

    def _make_seam(self, last_ns: int, last: Array) -> Seam:
        value, _ = self._value(last_ns)
        seam = Seam.between(
            last,
            value,
            last_ns,
            blend_s=self._settings.blend_s,
            speed=self._speed,
            columns=self._columns,
        )
        self.counts.largest_seam = max(
            self.counts.largest_seam, float(np.max(np.abs(seam.gap), initial=0.0))
        )
        return seam

    def _close_books(self, now_ns: int) -> None:
        """Log which share of the chunk that is being replaced was executed."""
        if self._chunks:
            newest = self._chunks[-1]
            end_ns = min(now_ns, self._until_ns(newest))
            share = newest.position(end_ns) / len(newest.rows)
            self.counts.executed_shares.append(min(max(share, 0.0), 1.0))
