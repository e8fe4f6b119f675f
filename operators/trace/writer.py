"""Write a trace: collect, flush in batches, never block, never lose anything silently."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from interlock.messages import Image
from interlock.operators.trace.disk import BackgroundDisk, Disk
from interlock.operators.trace.format import FOLDER, TraceError, file_name, next_part, schema
from interlock.operators.trace.gaps import SeqCounter
from interlock.operators.trace.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from interlock.messages import Received


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceOptions:
    """What a trace keeps and how.

    Attributes:
        images: ``all``, ``none`` or ``every``; with the last, one picture in ``every_n`` of each
            output keeps its pixels.
        every_n: See ``images``.
        image_budget_mb: Size of the trace on disk, in MB, from which on pictures are rows without
            pixels; two 224x224 colour cameras at 30 Hz write at most 9 MB/s, uncompressed.
        flush_ms: Longest time that a message waits in memory, in ms.
        flush_rows: Rows of one output that are flushed at once, before that time.
        buffer_mb: Largest size of what waits to be written, in MB; beyond it messages are left
            out and counted.
        background: True writes in a thread, so that a slow disk blocks nobody.
    """

    images: Literal["all", "none", "every"] = "all"
    every_n: int = 10
    image_budget_mb: float = 4000.0
    flush_ms: int = 250
    flush_rows: int = 5000
    buffer_mb: float = 256.0
    background: bool = True

    def __post_init__(self) -> None:
        if self.every_n < 1 or self.flush_ms < 1 or self.flush_rows < 1:
            raise ValueError("every_n, flush_ms and flush_rows must be at least 1")
        if not (self.image_budget_mb >= 0 and self.buffer_mb > 0):
            raise ValueError("image_budget_mb and buffer_mb must be positive")


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceMeta:
    """What was run, as kept in ``meta.json``.

    Attributes:
        run_id: Id of the run.
        clock: ``monotonic`` or ``simulated``.
        seed: Seed of the run.
        started: Wall time of the start, ISO 8601 in UTC; empty when unknown.
        dataflow: The dataflow that ran, modules expanded.
        versions: Name -> version of what ran.
    """

    run_id: str
    clock: Literal["monotonic", "simulated"] = "monotonic"
    seed: int = 0
    started: str = ""
    dataflow: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)


class TraceWriter:
    """Appends messages to the trace of one run.

    Args:
        run_dir: Folder of the run; the trace is its sub-folder.
        meta: What is run.
        options: What to keep.
    """

    def __init__(self, run_dir: Path, meta: TraceMeta, options: TraceOptions | None = None) -> None:
        self.folder = run_dir / FOLDER
        self.options = options or TraceOptions()
        self.counters: dict[tuple[str, str], SeqCounter] = {}
        self.pictures_left_out = 0
        self._order = 0
        self._pictures: dict[tuple[str, str], int] = {}
        self._waiting: dict[tuple[str, str, type], Rows] = {}
        self._waiting_bytes = 0
        self._flushed_ns: int | None = None
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._part = next_part(self.folder)
            text = json.dumps(asdict(meta), indent=2, default=str)
            (self.folder / "meta.json").write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise TraceError(
                f"cannot write the trace to {self.folder}: {error.strerror}. "
                "Free some space, or choose another folder for the run."
            ) from error
        self._disk: Disk = (
            BackgroundDisk(self.folder) if self.options.background else Disk(self.folder)
        )

    @property
    def error(self) -> str:
        """Why the last write failed, in one sentence; empty when all is well."""
        return self._disk.error

    @property
    def left_out(self) -> int:
        """Messages that were received and could not be kept."""
        return sum(c.left_out for c in self.counters.values()) + self._disk.rows_lost

    def expect(self, source: str, output: str) -> None:
        """Name an output that should appear, so that the summary tells when it never did."""
        self.counters.setdefault((source, output), SeqCounter())

    def add(self, source: str, output: str, received: Received[Any]) -> int:
        """Copy one message; return how many messages are newly missing before it."""
        key = (source, output)
        counter = self.counters.get(key) or self.counters.setdefault(key, SeqCounter())
        missing = counter.see(received.stamp.seq, received.stamp.sent_ns)
        waiting = self._waiting_bytes + self._disk.waiting_bytes
        if waiting > self.options.buffer_mb * 1e6:
            counter.left_out += 1
            return missing
        rows = self._rows(source, output, type(received.message))
        before = rows.nbytes
        rows.add(self._order, received, keep_pixels=self._keeps_pixels(key, received.message))
        self._order += 1
        self._waiting_bytes += rows.nbytes - before
        if len(rows) >= self.options.flush_rows:
            self._write((*key, rows.cls))
        return missing

    def tick(self, now_ns: int) -> None:
        """Flush when it is time."""
        if self._flushed_ns is None:
            self._flushed_ns = now_ns
        if now_ns - self._flushed_ns >= self.options.flush_ms * 1_000_000:
            self._flushed_ns = now_ns
            self.flush()

    def flush(self) -> None:
        """Hand everything that waits to the disk."""
        for key in list(self._waiting):
            self._write(key)

    def close(self) -> None:
        """Write what waits and close the files."""
        self.flush()
        self._disk.close()

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Write ``summary.json``, after ``close``."""
        self._disk.write_json("summary.json", summary)

    def _rows(self, source: str, output: str, cls: type) -> Rows:
        key = (source, output, cls)
        found = self._waiting.get(key)
        if found is None:
            found = Rows(cls, schema(cls, source=source, output=output))
            self._waiting[key] = found
        return found

    def _write(self, key: tuple[str, str, type]) -> None:
        rows = self._waiting.pop(key)
        self._waiting_bytes -= rows.nbytes
        if len(rows):
            self._disk.write(file_name(*key, self._part), rows)

    def _keeps_pixels(self, key: tuple[str, str], message: object) -> bool:
        if not isinstance(message, Image):
            return True
        number = self._pictures.get(key, 0)
        self._pictures[key] = number + 1
        kept = self.options.images == "all" or (
            self.options.images == "every" and number % self.options.every_n == 0
        )
        if kept and self._disk.bytes_written < self.options.image_budget_mb * 1e6:
            return True
        self.pictures_left_out += 1
        return False
