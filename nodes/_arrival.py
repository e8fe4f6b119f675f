"""From a dora input event to a message with its stamp, on this machine's clock.

Stamps carry CLOCK_MONOTONIC, which means nothing on another machine. Every message therefore says
which clock it was stamped with; one of another clock is shifted by dora's own send time (a hybrid
logical clock), and so are the times within it. The error left is that of the clock synchronisation
between the machines.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from interlock.messages import MessageError, Received, Stamp, decode

#: Metadata key that names the clock of a stamp.
CLOCK = "clock"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
#: Fields that are times on the dataflow's clock; 0 means none.
_TIMES = ("start_ns", "deadline_ns", "committed_until_ns", "not_after_ns", "observed_ns")


def clock_id() -> str:
    """Return what tells this machine's clock, since its last boot, from others."""
    try:
        return _BOOT_ID.read_text()[:8]
    except OSError:
        return "unknown"


class Arrival:
    """Reads what arrives at one node.

    Args:
        dora_node: Tells the time on dora's clock.
        clock: This machine's clock.
    """

    def __init__(self, dora_node: Any, clock: str) -> None:
        self._dora = dora_node
        self._clock = clock
        self._foreign_seq: dict[str, int] = {}

    def read(self, event: dict[str, Any], where: str) -> Received[Any]:
        """Return the message of an input event.

        Args:
            event: From dora, with ``received_ns`` added.
            where: ``node/output`` that the dataflow wires to this input.

        Raises:
            MessageError: If it is malformed, or says that it comes from another node.
        """
        source, _, output = where.rpartition("/")
        metadata, received_ns = event["metadata"], event["received_ns"]
        message = decode(event["value"], metadata, where=where)
        if "source" in metadata or "observed_ns" in metadata:
            stamp = Stamp.from_metadata(metadata, where=where)
            if stamp.source != source:
                raise MessageError(f"{where}: it says that it comes from {stamp.source!r:.40}")
            if metadata.get(CLOCK, self._clock) != self._clock:
                shift_ns = self._sent_ns(event) - stamp.sent_ns
                stamp, message = shifted(stamp, shift_ns), with_times(message, shift_ns)
        else:
            # A node that is not ours: dora's own send time is all there is.
            sent_ns = self._sent_ns(event)
            seq = self._foreign_seq[where] = self._foreign_seq.get(where, -1) + 1
            stamp = Stamp(source=source, seq=seq, observed_ns=sent_ns, sent_ns=sent_ns)
        return Received(message=message, stamp=stamp, output=output, received_ns=received_ns)

    def _sent_ns(self, event: dict[str, Any]) -> int:
        """Return when a message was sent by dora's clock, on this machine's, in ns."""
        age = self._dora.timestamp() - event["metadata"]["timestamp"]
        received_ns: int = event["received_ns"]
        return received_ns - max(0, int(age.total_seconds() * 1e9))


def shifted(stamp: Stamp, by_ns: int) -> Stamp:
    """Return a stamp with all its times later by ``by_ns``."""
    basis = tuple(
        replace(b, observed_ns=b.observed_ns + by_ns, received_ns=b.received_ns + by_ns)
        for b in stamp.basis
    )
    return replace(
        stamp,
        observed_ns=stamp.observed_ns + by_ns,
        sent_ns=stamp.sent_ns + by_ns,
        basis=basis,
    )


def with_times(message: Any, by_ns: int) -> Any:
    """Return a message with the times in it later by ``by_ns``; 0 stays none."""
    times = {name: getattr(message, name) for name in _TIMES if hasattr(message, name)}
    later = {
        name: value + by_ns if isinstance(value, np.ndarray) or value else value
        for name, value in times.items()
    }
    return replace(message, **later) if later else message
