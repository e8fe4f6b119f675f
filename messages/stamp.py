"""Where a message comes from, when the world was like it says, and what it was computed from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from interlock.messages.errors import MessageError

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Largest number of basis entries in one stamp: a bound on what a foreign sender can make us keep.
MAX_BASIS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """One message that another was computed from, as its consumer saw it.

    Attributes:
        source: Node that sent it.
        output: Output it was sent on.
        seq: Its sequence number on that output.
        observed_ns: When the world was like it says, in ns on the dataflow's clock.
        received_ns: When the consumer received it, in ns on the dataflow's clock.
    """

    source: str
    output: str
    seq: int
    observed_ns: int
    received_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """Origin of a message.

    Attributes:
        source: Id of the node that sent the message.
        seq: Count of messages on this output, from 0; consumers count gaps in it.
        observed_ns: When the world was like this, in ns on the dataflow's clock. A derived
            message keeps the oldest observation that it rests on.
        sent_ns: When the message was sent, in ns on the dataflow's clock.
        basis: The messages it was computed from.
    """

    source: str
    seq: int
    observed_ns: int
    sent_ns: int
    basis: tuple[Basis, ...] = ()

    def to_metadata(self) -> dict[str, Any]:
        """Return the stamp as dora metadata: plain ints, strings and flat lists of them."""
        metadata: dict[str, Any] = {
            "source": self.source,
            "seq": int(self.seq),
            "observed_ns": int(self.observed_ns),
            "sent_ns": int(self.sent_ns),
        }
        if self.basis:
            # dora turns an empty list into text, so the lists exist only when they hold something.
            metadata["basis"] = [f"{b.source}/{b.output}" for b in self.basis]
            metadata["basis_seq"] = [int(b.seq) for b in self.basis]
            metadata["basis_observed_ns"] = [int(b.observed_ns) for b in self.basis]
            metadata["basis_received_ns"] = [int(b.received_ns) for b in self.basis]
        return metadata

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any], *, where: str) -> Self:
        """Read the stamp of a received message.

        Args:
            metadata: What dora delivered beside the payload.
            where: The edge, ``node/output``, named in errors.

        Raises:
            MessageError: If a field is missing or has the wrong type.
        """
        for field, kind in _FIELDS.items():
            value = metadata.get(field)
            if type(value) is not kind:
                got = "nothing" if value is None else f"{type(value).__name__} {value!r:.40}"
                raise MessageError(
                    f"{where}: stamp field {field!r}: expected {kind.__name__}, got {got}. "
                    "Send through interlock.nodes, or list the node as foreign in the dataflow."
                )
        return cls(
            source=metadata["source"],
            seq=metadata["seq"],
            observed_ns=metadata["observed_ns"],
            sent_ns=metadata["sent_ns"],
            basis=_read_basis(metadata, where=where) if "basis" in metadata else (),
        )


_FIELDS: dict[str, type] = {"source": str, "seq": int, "observed_ns": int, "sent_ns": int}


def _read_basis(metadata: Mapping[str, Any], *, where: str) -> tuple[Basis, ...]:
    names = metadata["basis"]
    if not isinstance(names, list) or len(names) > MAX_BASIS:
        raise MessageError(f"{where}: stamp field 'basis': expected a list of at most {MAX_BASIS}")
    columns: list[Any] = [metadata.get(f"basis_{x}") for x in ("seq", "observed_ns", "received_ns")]
    for column in columns:
        if not isinstance(column, list) or len(column) != len(names):
            raise MessageError(f"{where}: the basis_* lists differ in length from 'basis'")
        if not all(type(x) is int for x in column):
            raise MessageError(f"{where}: the basis_* lists: expected integers, got {column!r:.80}")
    found = []
    for i, name in enumerate(names):
        source, _, output = str(name).rpartition("/")
        if not source or not output:
            raise MessageError(f"{where}: basis entry {name!r:.60}: expected node/output")
        seq, observed_ns, received_ns = (column[i] for column in columns)
        found.append(
            Basis(
                source=source,
                output=output,
                seq=seq,
                observed_ns=observed_ns,
                received_ns=received_ns,
            )
        )
    return tuple(found)
