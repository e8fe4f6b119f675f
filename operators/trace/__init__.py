"""What the trace is on disk, and how it is written, read and explained."""

from interlock.operators.trace.digest import digest
from interlock.operators.trace.format import TraceError
from interlock.operators.trace.join import Story, stories
from interlock.operators.trace.reader import Stream, Trace, newest_run
from interlock.operators.trace.writer import TraceMeta, TraceOptions, TraceWriter

__all__ = [
    "Story",
    "Stream",
    "Trace",
    "TraceError",
    "TraceMeta",
    "TraceOptions",
    "TraceWriter",
    "digest",
    "newest_run",
    "stories",
]
