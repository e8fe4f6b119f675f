"""A message as its consumer holds it, and a message on its way out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from interlock.messages.stamp import Basis, Stamp

M = TypeVar("M")


@dataclass(frozen=True, slots=True, kw_only=True)
class Received(Generic[M]):
    """A message that arrived.

    Attributes:
        message: The message; its arrays may be views of the received buffer: copy what you keep.
        stamp: Its stamp.
        output: Output of the sender that it was sent on.
        received_ns: When it was received, in ns on the dataflow's clock.
    """

    message: M
    stamp: Stamp
    output: str
    received_ns: int

    @property
    def basis(self) -> Basis:
        """This message as part of the basis of another."""
        return Basis(
            source=self.stamp.source,
            output=self.output,
            seq=self.stamp.seq,
            observed_ns=self.stamp.observed_ns,
            received_ns=self.received_ns,
        )

    def age_ns(self, now_ns: int) -> int:
        """Return how old the observation is, in ns; the age of the data, not of the message."""
        return now_ns - self.stamp.observed_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """A message to send; the node driver adds source, sequence number and time.

    Attributes:
        output: Output to send it on.
        message: The message.
        basis: What it was computed from.
        observed_ns: When the world was like this; None takes the oldest of ``basis``, or now.
    """

    output: str
    message: object
    basis: tuple[Basis, ...] = ()
    observed_ns: int | None = None

    def stamp(self, *, source: str, seq: int, now_ns: int) -> Stamp:
        """Return the stamp to send it with."""
        observed_ns = self.observed_ns
        if observed_ns is None:
            observed_ns = min((b.observed_ns for b in self.basis), default=now_ns)
        return Stamp(
            source=source, seq=seq, observed_ns=observed_ns, sent_ns=now_ns, basis=self.basis
        )
