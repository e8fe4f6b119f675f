"""What a trace holds and what is missing from it, as kept in ``summary.json``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlock.operators.latency import measure
from interlock.operators.trace.gaps import SeqCounter

if TYPE_CHECKING:
    from interlock.operators.trace.reader import Stream, Trace
    from interlock.operators.trace.writer import TraceWriter


def summarize(trace: Trace, writer: TraceWriter) -> dict[str, Any]:
    """Return the summary of a run that has just ended.

    Args:
        trace: The trace as it lies on disk.
        writer: The writer that made it: it knows what never reached the disk.
    """
    return {
        "outputs": {f"{s}/{o}": _counts(c) for (s, o), c in sorted(writer.counters.items())},
        "gaps": sum(c.gaps for c in writer.counters.values()),
        "left_out": writer.left_out,
        "pictures_left_out": writer.pictures_left_out,
        "error": writer.error,
        "edges": [edge.to_json() for edge in measure(trace)],
    }


def recount(trace: Trace) -> dict[str, SeqCounter]:
    """Return the counters of every output from the rows on disk, e.g. after ``kill -9``."""
    return {stream.name: _recounted(stream) for stream in trace.streams}


def _recounted(stream: Stream) -> SeqCounter:
    counter = SeqCounter()
    seqs, sent = stream.column("seq").tolist(), stream.column("sent_ns").tolist()
    for seq, sent_ns in zip(seqs, sent, strict=True):
        counter.see(seq, sent_ns)
    return counter


def _counts(counter: SeqCounter) -> dict[str, int]:
    names = ("count", "gaps", "restarts", "late", "repeated", "left_out")
    return {name: getattr(counter, name) for name in names}
