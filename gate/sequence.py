"""What senders send: nothing twice, nothing late, not too much; and a sender that began anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlock.gate.decision import Reason

if TYPE_CHECKING:
    from interlock.messages.received import Received

#: Outputs of which the newest sequence number is kept: a bound on what senders can make us keep.
_MOST_EDGES = 1000


class Sequence:
    """Newest sequence number of every output that the Gate hears."""

    def __init__(self) -> None:
        self._newest: dict[tuple[str, str], int] = {}

    def began_anew(self, received: Received[Any]) -> bool:
        """Return whether a sender counts from 0 again: its process was started again."""
        edge = (received.stamp.source, received.output)
        return received.stamp.seq == 0 and edge in self._newest

    def late(self, received: Received[Any]) -> Reason | None:
        """Return why a message comes too late: a newer one of the same output was here before."""
        edge = (received.stamp.source, received.output)
        newest = self._newest.get(edge, -1)
        if received.stamp.seq > newest:
            if len(self._newest) < _MOST_EDGES or newest >= 0:
                self._newest[edge] = received.stamp.seq
            return None
        return Reason(
            code="out_of_order",
            sentence=f"Command {received.stamp.seq} came after command {newest} of the same output",
            way_out="Send every command once, in order.",
        )

    def forget(self, source: str) -> None:
        """Forget a sender that is gone; it may count from 0 again."""
        self._newest = {edge: seq for edge, seq in self._newest.items() if edge[0] != source}


class Rate:
    """How many commands a sender may send: a flood is refused before it costs anything.

    Args:
        per_s: Commands per second, in the long run; a tenth of it at once.
    """

    def __init__(self, per_s: float) -> None:
        self._per_s = per_s
        self._burst = max(10.0, per_s / 10)
        self._left: dict[str, tuple[float, int]] = {}

    def exceeded(self, source: str, now_ns: int) -> Reason | None:
        """Count one command of a sender; return why it is one too many."""
        left, then_ns = self._left.get(source, (self._burst, now_ns))
        left = min(self._burst, left + max(0, now_ns - then_ns) * 1e-9 * self._per_s)
        if left >= 1 and (source in self._left or len(self._left) < _MOST_EDGES):
            self._left[source] = (left - 1, now_ns)
            return None
        return Reason(
            code="rate",
            sentence=f"{source:.40} sends more than {self._per_s:.0f} commands per second",
            way_out="Send fewer, with more rows each.",
        )
