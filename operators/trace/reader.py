"""Open the trace of a run and read its messages in order of time."""

from __future__ import annotations

import json
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from interlock.operators.trace.format import FOLDER, SUFFIX, TraceError, names
from interlock.operators.trace.parse import Batch

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from interlock.messages import Basis, Received


class Stream:
    """Every recorded message of one output, in the order in which they reached the trace.

    Attributes:
        source: Node that sent them.
        output: Output that they were sent on.
        cls: Their type.
        torn_bytes: Bytes at the end of its files that are no whole batch.
    """

    def __init__(self, source: str, output: str, cls: type) -> None:
        self.source = source
        self.output = output
        self.cls = cls
        self.torn_bytes = 0
        self.batches: list[Batch] = []
        self._starts: list[int] = [0]

    def __len__(self) -> int:
        return self._starts[-1]

    @property
    def name(self) -> str:
        """The output as the dataflow names it, ``node/output``."""
        return f"{self.source}/{self.output}"

    def extend(self, batches: list[pa.RecordBatch]) -> None:
        """Add the batches of one more part."""
        self.batches += [Batch(b, self.cls, self.output) for b in batches if b.num_rows]
        self._starts = [0, *accumulate(len(b) for b in self.batches)]

    def __getitem__(self, index: int) -> Received[Any]:
        if not 0 <= index < len(self):
            raise IndexError(index)
        batch = bisect_right(self._starts, index) - 1
        return self.batches[batch].row(index - self._starts[batch])

    def column(self, name: str) -> NDArray[np.int64]:
        """Return a whole-number column of the stamp, e.g. ``sent_ns``."""
        parts = [b.data.column(name).to_numpy() for b in self.batches]
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)


class Trace:
    """The trace of one run, read lazily: messages are decoded when they are asked for.

    Attributes:
        folder: Folder of the trace.
        meta: What was run, from ``meta.json``.
        summary: What the trace node said at the end; empty when it did not get that far.
        streams: One per output and message type, by name.
    """

    def __init__(self, path: Path) -> None:
        self.folder = _folder(path)
        self.meta = _json(self.folder / "meta.json")
        self.summary = _json(self.folder / "summary.json")
        found: dict[tuple[str, str, type], Stream] = {}
        for file in sorted(self.folder.glob(f"*{SUFFIX}"), key=_part):
            _load(file, found)
        self.streams = sorted(found.values(), key=lambda s: (s.name, s.cls.__name__))
        self._index: dict[tuple[str, str, int], list[tuple[int, Stream, int]]] | None = None

    @property
    def torn_bytes(self) -> int:
        """Bytes at the ends of its files that are no whole batch, as ``kill -9`` may leave."""
        return sum(s.torn_bytes for s in self.streams)

    def messages(
        self,
        *,
        outputs: Collection[str] | None = None,
        types: Collection[type] | None = None,
        task: str | None = None,
    ) -> Iterator[Received[Any]]:
        """Yield messages in the order in which they were sent.

        Args:
            outputs: Only these outputs, as ``node/output`` or ``node``.
            types: Only these message types.
            task: Only messages that carry this task token, goal or request id.
        """
        chosen = [
            s
            for s in self.streams
            if (types is None or s.cls in types)
            and (outputs is None or s.name in outputs or s.source in outputs)
        ]
        for stream, index in _in_time(chosen):
            received = stream[index]
            if task is None or task in tokens(received.message):
                yield received

    def of(self, *types: type) -> list[Received[Any]]:
        """Return every message of these types, in the order in which they were sent."""
        return list(self.messages(types=types))

    def find(self, basis: Basis) -> Received[Any] | None:
        """Return the message that an entry of a basis stands for, or None if it is not here."""
        if self._index is None:
            self._index = self._indexed()
        entries = self._index.get((basis.source, basis.output, basis.seq), [])
        for observed_ns, stream, row in entries:
            if observed_ns == basis.observed_ns:
                return stream[row]
        return None

    def span_ns(self) -> tuple[int, int]:
        """Return when the first and the last message were sent; (0, 0) for an empty trace."""
        sent = [s.column("sent_ns") for s in self.streams if len(s)]
        if not sent:
            return (0, 0)
        return (int(min(c.min() for c in sent)), int(max(c.max() for c in sent)))

    def _indexed(self) -> dict[tuple[str, str, int], list[tuple[int, Stream, int]]]:
        index: dict[tuple[str, str, int], list[tuple[int, Stream, int]]] = {}
        for stream in self.streams:
            seqs = stream.column("seq").tolist()
            observed = stream.column("observed_ns").tolist()
            for row, (seq, observed_ns) in enumerate(zip(seqs, observed, strict=True)):
                key = (stream.source, stream.output, seq)
                index.setdefault(key, []).append((observed_ns, stream, row))
        return index


def tokens(message: object) -> set[str]:
    """Return the task token, goal and request id that a message carries."""
    found = (getattr(message, name, "") for name in ("task", "goal", "request", "parent"))
    return {x for x in found if x}


def newest_run(runs: Path) -> Path:
    """Return the newest run that has a trace.

    Raises:
        TraceError: If there is none.
    """
    metas = list(runs.glob(f"*/{FOLDER}/meta.json"))
    if not metas:
        raise TraceError(
            f"no trace under {runs.resolve()}. Run a dataflow first, or name the folder of a run."
        )
    return max(metas, key=lambda p: p.stat().st_mtime_ns).parent.parent


def _folder(path: Path) -> Path:
    for folder in (path / FOLDER, path):
        if (folder / "meta.json").is_file() or any(folder.glob(f"*{SUFFIX}")):
            return folder
    missing = "is no trace" if path.exists() else "does not exist"
    raise TraceError(f"{path} {missing}: expected a run folder with {FOLDER}/meta.json in it.")


def _json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}  # torn or never written: the streams are the record
    return data if isinstance(data, dict) else {}


def _part(path: Path) -> tuple[str, str]:
    return (path.name.split(".")[-2], path.name)


def _load(path: Path, found: dict[tuple[str, str, type], Stream]) -> None:
    size = path.stat().st_size
    if not size:
        return
    with pa.memory_map(str(path)) as file:
        try:
            reader = pa.ipc.open_stream(file)
        except (pa.ArrowInvalid, OSError):
            return  # the process ended while it wrote the very first bytes
        key = names(reader.schema, path=path)
        batches, good = _batches(reader, file)
    stream = found.setdefault(key, Stream(*key))
    stream.extend(batches)
    stream.torn_bytes += size - good


def _batches(
    reader: pa.RecordBatchStreamReader, file: pa.MemoryMappedFile
) -> tuple[list[pa.RecordBatch], int]:
    batches: list[pa.RecordBatch] = []
    good = file.tell()
    while True:
        try:
            batch = reader.read_next_batch()
            batch.validate(full=True)
        except StopIteration:
            return batches, file.tell()
        except (pa.ArrowInvalid, OSError):
            return batches, good
        batches.append(batch)
        good = file.tell()


def _in_time(streams: list[Stream]) -> Iterator[tuple[Stream, int]]:
    if not streams:
        return
    sent = np.concatenate([s.column("sent_ns") for s in streams])
    order = np.concatenate([s.column("order") for s in streams])
    which = np.repeat(np.arange(len(streams)), [len(s) for s in streams])
    rows = np.concatenate([np.arange(len(s)) for s in streams])
    for i in np.lexsort((order, sent)):
        yield streams[which[i]], int(rows[i])
