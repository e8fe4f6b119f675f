"""Turn the rows of a record batch back into messages with their stamps."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from interlock.messages import Basis, Image, Received, Stamp
from interlock.messages.codec import TABLE
from interlock.messages.columns import empty
from interlock.messages.image import ENCODINGS
from interlock.operators.trace.format import TraceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

#: Largest picture that is unpacked, in bytes: a damaged trace must not exhaust memory.
MAX_PICTURE = 256 * 1024 * 1024

_STAMP = ("source", "seq", "observed_ns", "sent_ns", "received_ns")


class Batch:
    """One record batch of a trace file; columns are unpacked once, when first asked for."""

    def __init__(self, batch: pa.RecordBatch, cls: type, output: str) -> None:
        self.data = batch
        self._cls = cls
        self._output = output

    def __len__(self) -> int:
        return int(self.data.num_rows)

    def row(self, index: int) -> Received[Any]:
        """Return one message; its arrays are read-only views of the file."""
        source, seq, observed_ns, sent_ns, received_ns = (c[index] for c in self._stamps)
        stamp = Stamp(
            source=source,
            seq=seq,
            observed_ns=observed_ns,
            sent_ns=sent_ns,
            basis=tuple(Basis(**b) for b in self.data.column("basis")[index].as_py()),
        )
        return Received(
            message=self.message(index), stamp=stamp, output=self._output, received_ns=received_ns
        )

    def message(self, index: int) -> Any:
        """Return one message without its stamp."""
        if self._cls is Image:
            return self._image(index)
        return self._cls(**{name: value(index) for name, value in self._fields.items()})

    @cached_property
    def _stamps(self) -> list[list[Any]]:
        return [self.data.column(name).to_pylist() for name in _STAMP]

    @cached_property
    def _fields(self) -> dict[str, Callable[[int], Any]]:
        struct = self.data.column("message")
        found = {}
        for field in TABLE[self._cls]:
            if struct.type.get_field_index(field.name) < 0:
                continue  # newer than the trace: the message type has a default
            array = struct.field(field.name)
            if field.scalar is not None:
                found[field.name] = array.to_pylist().__getitem__
            elif field.column is None:
                found[field.name] = [tuple(v) for v in array.to_pylist()].__getitem__
            else:
                read = _vectors if field.column.ndim == 1 else _matrices
                found[field.name] = read(array)
        return found

    @cached_property
    def _poses(self) -> Callable[[int], NDArray[Any]]:
        return _vectors(self.data.column("message").field("world_from_camera"))

    def _image(self, index: int) -> Image:
        row = self.data.column("message")
        encoding, height, width, camera, fovy_deg = (row.field(i)[index].as_py() for i in range(5))
        if encoding not in ENCODINGS:
            raise TraceError(f"picture encoding {encoding!r} is not known to this release")
        dtype, channels = ENCODINGS[encoding]
        shape = (height, width) if channels == 1 else (height, width, channels)
        packed = row.field("pixels")[index]
        if packed.is_valid:
            pixels = unpack(packed.as_buffer(), height * width * channels * dtype.itemsize)
            array = np.frombuffer(pixels, dtype).reshape(shape)
        else:
            array = np.zeros((0, 0, *shape[2:]), dtype)
        pose = self._poses(index)
        return Image(
            pixels=array,
            encoding=encoding,
            camera=camera,
            fovy_deg=fovy_deg,
            world_from_camera=pose if pose.size else empty(),
        )


def unpack(packed: pa.Buffer, size: int) -> bytes:
    """Return the pixels of a picture.

    Raises:
        TraceError: If they are damaged or larger than ``MAX_PICTURE``.
    """
    if not 0 < size <= MAX_PICTURE:
        raise TraceError(f"a picture of {size} bytes; at most {MAX_PICTURE} are unpacked")
    try:
        pixels: bytes = pa.decompress(packed, decompressed_size=size, codec="zstd", asbytes=True)
    except (OSError, ValueError) as error:
        raise TraceError(f"the pixels of a picture are damaged: {error}") from error
    if len(pixels) != size:
        raise TraceError(f"a picture holds {len(pixels)} bytes where {size} are expected")
    return pixels


def _vectors(array: pa.ListArray) -> Callable[[int], NDArray[Any]]:
    offsets = array.offsets.to_numpy()
    values = array.values.to_numpy()
    return lambda i: values[offsets[i] : offsets[i + 1]]


def _matrices(array: pa.ListArray) -> Callable[[int], NDArray[Any]]:
    outer = array.offsets.to_numpy()
    inner = array.values.offsets.to_numpy()
    values: NDArray[Any] = array.values.values.to_numpy()

    def read(i: int) -> NDArray[Any]:
        first, last = outer[i], outer[i + 1]
        rows = int(last - first)
        start, end = inner[first], inner[last]
        width = int(end - start) // rows if rows else 0
        return values[start:end].reshape(rows, width)

    return read
