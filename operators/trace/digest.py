"""One number for the content of a trace: equal digests mean bit-identical runs.

The digest covers every output, every stamp and every field of every message, and not how the rows
were batched. Left out is what names the run or the machine and not what happened: when the trace
received a message, seals and run ids, and times measured on the wall clock.
"""

from __future__ import annotations

import hashlib
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from interlock.messages import AdmittedCommand, GateStatus, Image, Verdict
from interlock.messages.codec import TABLE
from interlock.messages.image import ENCODINGS
from interlock.operators.trace.format import IMAGE
from interlock.operators.trace.parse import unpack
from interlock.operators.trace.reader import Trace

if TYPE_CHECKING:
    from pathlib import Path

    from interlock.operators.trace.reader import Stream

#: Fields that differ between two identical runs.
EXCLUDED: dict[type, frozenset[str]] = {
    Verdict: frozenset({"stage_us"}),
    AdmittedCommand: frozenset({"run", "mac"}),
    GateStatus: frozenset({"boot"}),
}


def digest(path: Path) -> str:
    """Return the SHA-256 of the content of a trace, as hex text."""
    total = hashlib.sha256()
    for stream in Trace(path).streams:
        if len(stream):
            total.update(f"{stream.name} {stream.cls.__name__} {len(stream)}\n".encode())
            _add_stream(total, stream)
    return total.hexdigest()


def _add_stream(total: Any, stream: Stream) -> None:
    batches = [b.data for b in stream.batches]
    for name in ("source", "seq", "observed_ns", "sent_ns", "basis"):
        _add(total, pa.concat_arrays([b.column(name) for b in batches]))
    excluded = EXCLUDED.get(stream.cls, frozenset())
    fields = [f.name for f in IMAGE] if stream.cls is Image else [f.name for f in TABLE[stream.cls]]
    recorded = {f.name for f in batches[0].schema.field("message").type}
    for name in fields:
        if name in excluded or name not in recorded:
            continue
        if name == "pixels":
            _add_pixels(total, stream)
        else:
            _add(total, pa.concat_arrays([b.column("message").field(name) for b in batches]))


def _add(total: Any, array: pa.Array) -> None:
    """Add one column: its lengths and its values, whatever the batches were."""
    if pa.types.is_struct(array.type):
        for child in array.flatten():
            _add(total, child)
    elif pa.types.is_list(array.type):
        total.update(array.value_lengths().to_numpy(zero_copy_only=False).astype("<i8").tobytes())
        _add(total, array.flatten())
    elif pa.types.is_string(array.type):
        texts = [t.encode() for t in array.to_pylist()]
        total.update(np.array([len(t) for t in texts], "<i8").tobytes())
        total.update(b"".join(texts))
    else:
        total.update(array.to_numpy(zero_copy_only=False).tobytes())


def _add_pixels(total: Any, stream: Stream) -> None:
    for batch in stream.batches:
        message = batch.data.column("message")
        for row in range(len(batch)):
            packed = message.field("pixels")[row]
            total.update(struct.pack("<?", packed.is_valid))
            if packed.is_valid:
                encoding = message.field("encoding")[row].as_py()
                dtype, channels = ENCODINGS[encoding]
                shape = (message.field(name)[row].as_py() for name in ("height", "width"))
                size = int(np.prod([*shape, channels])) * dtype.itemsize
                total.update(unpack(packed.as_buffer(), size))
