"""Append record batches to files: whole or not at all, and at once or in a thread.

A write that fails (a full disk) is undone, so that what was written before stays readable; the
rows are counted as lost, the reason is kept as one sentence, and later writes are tried again.
"""

from __future__ import annotations

import io
import json
import os
import queue
import threading
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from interlock.operators.trace.rows import Rows

#: Longest time that closing waits for a slow disk, in s.
CLOSE_S = 10.0


class _File:
    """One Arrow stream, written in whole batches."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        self._fd = os.open(path, flags, 0o644)
        self._size = 0
        self._buffer = io.BytesIO()
        self._writer = pa.ipc.new_stream(self._buffer, schema)
        # The schema is written with the first batch, so the head is an empty one.
        self._writer.write_batch(pa.RecordBatch.from_pylist([], schema=schema))
        self._head = self._taken()

    def append(self, batch: pa.RecordBatch) -> int:
        """Write one batch and return its size in bytes; on an OSError the file is as before."""
        self._writer.write_batch(batch)
        data = self._head + self._taken()
        try:
            _write_all(self._fd, data)
        except OSError:
            os.ftruncate(self._fd, self._size)
            raise
        self._size += len(data)
        self._head = b""
        return len(data)

    def close(self) -> None:
        """Close the file; a stream needs no end mark."""
        os.close(self._fd)

    def _taken(self) -> bytes:
        data = self._buffer.getvalue()
        self._buffer.seek(0)
        self._buffer.truncate()
        return data


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


class Disk:
    """Writes to the files of one trace, at once."""

    def __init__(self, folder: Path) -> None:
        self.error = ""
        self.rows_lost = 0
        self.bytes_written = 0
        self.waiting_bytes = 0
        self._folder = folder
        self._files: dict[str, _File] = {}

    def write(self, name: str, rows: Rows) -> None:
        """Append rows to a file of the trace."""
        try:
            batch = rows.batch()
            if name not in self._files:
                self._files[name] = _File(self._folder / name, rows.schema)
            self.bytes_written += self._files[name].append(batch)
        except OSError as error:
            self.rows_lost += len(rows)
            self.error = self._described(error)
        except (ValueError, TypeError, OverflowError) as error:
            self.rows_lost += len(rows)
            self.error = f"{name}: {len(rows)} messages don't fit their own type: {error}"

    def write_json(self, name: str, data: Mapping[str, Any]) -> None:
        """Write a small file beside the streams."""
        try:
            text = json.dumps(data, indent=2, default=str)
            (self._folder / name).write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            self.error = self._described(error)

    def close(self) -> None:
        """Close every file."""
        for file in self._files.values():
            file.close()
        self._files.clear()

    def _described(self, error: OSError) -> str:
        return (
            f"the trace in {self._folder} can't be written: {error.strerror or error}. What was "
            "recorded until now stays readable. Free some space, or choose another folder."
        )


class BackgroundDisk(Disk):
    """Writes in a thread; the caller never waits, and bounds what waits by ``waiting_bytes``."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._queue: queue.SimpleQueue[tuple[str, Rows] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._work, name="trace-disk", daemon=True)
        self._thread.start()

    def write(self, name: str, rows: Rows) -> None:
        """Queue rows for the thread."""
        with self._lock:
            self.waiting_bytes += rows.nbytes
        self._queue.put((name, rows))

    def close(self) -> None:
        """Wait for the thread, for a bounded time, and close every file."""
        self._queue.put(None)
        self._thread.join(CLOSE_S)
        if self._thread.is_alive():
            self.error = f"the disk under {self._folder} did not take the trace in {CLOSE_S:.0f} s"
            return
        super().close()

    def _work(self) -> None:
        while (item := self._queue.get()) is not None:
            name, rows = item
            super().write(name, rows)
            with self._lock:
                self.waiting_bytes -= rows.nbytes
