"""How action chunks are executed: strategy, replanning, averaging, seams, running out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Strategy = Literal["open_loop", "receding_horizon", "ensemble", "similarity_ensemble"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkSettings:
    """The ``chunks:`` part of a preset.

    Attributes:
        strategy: open_loop plays ``replan_steps`` rows, then holds until the next chunk is there.
            receding_horizon asks ahead by the measured latency and plays on meanwhile.
            ensemble (ACT's weights) and similarity_ensemble average all chunks that cover a
            moment; discrete columns are taken from the newest, never averaged.
        replan_steps: Rows of a chunk after which the next one should take over; 0 for all.
        ensemble_decay: m in the weight exp(-m i); i counts chunks.
        ensemble_favours: Whether i is 0 for the oldest chunk (ACT) or for the newest.
        ensemble_chunks: Chunks that are averaged at most.
        similarity: a in the weight exp(a cos), cos to the newest chunk's action.
        blend_s: Shortest time over which a seam is closed, in s; it takes longer where closing
            it in this time would exceed the speed limits.
        latency_s: First guess of the time from asking to answer, in s; measured from then on.
        on_empty: When a chunk has run out: hold its last row, or stop.
        prefix_key: Key under which the rows that will be played before the answer comes are sent
            to servers that continue from them (real-time chunking); empty sends none.
    """

    strategy: Strategy = "open_loop"
    replan_steps: int = 0
    ensemble_decay: float = 0.01
    ensemble_favours: Literal["oldest", "newest"] = "oldest"
    ensemble_chunks: int = 16
    similarity: float = 0.1
    blend_s: float = 0.1
    latency_s: float = 0.2
    on_empty: Literal["hold", "stop"] = "hold"
    prefix_key: str = ""

    def __post_init__(self) -> None:
        for name, high in (("blend_s", 10.0), ("latency_s", 60.0), ("ensemble_decay", 100.0)):
            if not (0.0 <= getattr(self, name) <= high):
                raise ValueError(f"{name} is {getattr(self, name):g}; 0 to {high:g}")
        if not (-100.0 <= self.similarity <= 100.0):
            raise ValueError(f"similarity is {self.similarity:g}; -100 to 100")
        if not (0 <= self.replan_steps <= 10_000 and 1 <= self.ensemble_chunks <= 1000):
            raise ValueError("replan_steps is 0 to 10000, ensemble_chunks 1 to 1000")

    @property
    def averages(self) -> bool:
        """Whether several chunks make one action."""
        return self.strategy in ("ensemble", "similarity_ensemble")
