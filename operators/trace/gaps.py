"""Count what is missing from a numbered stream: gaps, restarts, late and repeated messages."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class SeqCounter:
    """Follows ``seq`` of one output as its messages arrive.

    Attributes:
        count: Messages seen, repeated ones left out.
        gaps: Messages that are missing so far.
        restarts: Times that the numbering began anew because the sender restarted.
        late: Messages that arrived after a later one.
        repeated: Messages that arrived twice.
        left_out: Messages that the trace received and could not keep.
    """

    count: int = 0
    gaps: int = 0
    restarts: int = 0
    late: int = 0
    repeated: int = 0
    left_out: int = 0
    _next: int = 0
    _sent_ns: int = 0

    def see(self, seq: int, sent_ns: int) -> int:
        """Count one message and return how many are newly missing before it."""
        missing = 0
        if seq >= self._next:
            missing = seq - self._next
        elif sent_ns > self._sent_ns:  # a smaller number sent later: the sender began anew
            self.restarts += 1
            missing = seq
        elif self.gaps > 0:  # sent earlier: it fills a gap
            self.late += 1
            self.gaps -= 1
            self.count += 1
            return 0
        else:
            self.repeated += 1
            return 0
        self.count += 1
        self.gaps += missing
        self._next, self._sent_ns = seq + 1, sent_ns
        return missing
