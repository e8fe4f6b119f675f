"""What goes into and comes out of a chunk player: tickets, steps, counts."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from interlock.operators.chunk_mix import Array

_SHARES_KEPT = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """Permission to add one chunk.

    Attributes:
        epoch: How often the player had been cleared.
        asked_ns: When the question was asked, in ns.
        observation_id: Number of the observation that was sent.
    """

    epoch: int
    asked_ns: int
    observation_id: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Step:
    """What to command at one tick.

    Attributes:
        kind: play; hold (nothing new: stay where ``target`` says); empty (nothing was ever
            played); stop (a chunk ran out and the preset says stop).
        target: Shape (width,); None for empty and stop.
        observation_id: Observation that the newest chunk in it answers; -1 for none.
        observed_ns: When that was, in ns.
        opposite: The averaged chunks point opposite ways and cancel each other.
    """

    kind: Literal["play", "hold", "empty", "stop"]
    target: Array | None = None
    observation_id: int = -1
    observed_ns: int = 0
    opposite: bool = False


@dataclass(slots=True)
class ChunkCounts:
    """What happened so far, for the result and the trace."""

    chunks: int = 0
    discarded: int = 0
    ran_out: int = 0
    opposite: int = 0
    largest_seam: float = 0.0
    executed_shares: deque[float] = field(default_factory=lambda: deque(maxlen=_SHARES_KEPT))
