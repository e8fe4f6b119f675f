"""Collect messages of one output and turn them into a record batch.

Everything is copied on arrival, so that no received buffer is held. A batch is built column by
column, which costs a few microseconds per message where a table of Python objects costs hundreds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from interlock.messages import Image
from interlock.messages.codec import TABLE
from interlock.messages.columns import NUMPY_TYPES, Column
from interlock.messages.fields import ARROW_TYPES
from interlock.operators.trace.format import BASIS, IMAGE, SCALARS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from interlock.messages import Basis, Received, Stamp

#: Bytes that a row costs beside its arrays, as counted against the buffer limit.
ROW_BYTES = 256


class Rows:
    """Messages of one output that wait for the next flush."""

    def __init__(self, cls: type, schema: pa.Schema) -> None:
        self.cls = cls
        self.schema = schema
        self.nbytes = 0
        self._stamps: list[tuple[int, Stamp, int]] = []
        self._messages: list[tuple[Any, ...]] = []

    def __len__(self) -> int:
        return len(self._messages)

    def add(self, order: int, received: Received[Any], *, keep_pixels: bool = True) -> None:
        """Copy one message in; without its pixels a picture is a row whose pixels are null."""
        if self.cls is Image:
            values, size = _copy_image(received.message, keep_pixels)
        else:
            values, size = _copy(self.cls, received.message)
        self._messages.append(values)
        self._stamps.append((order, received.stamp, received.received_ns))
        self.nbytes += size + ROW_BYTES

    def batch(self) -> pa.RecordBatch:
        """Return the rows as a record batch; pictures are compressed here."""
        columns = list(zip(*self._messages, strict=True))
        build = _image_columns if self.cls is Image else _message_columns
        message = build(self.cls, columns)
        return pa.RecordBatch.from_arrays(
            [*_stamp_columns(self._stamps), message], schema=self.schema
        )


def _copy(cls: type, message: Any) -> tuple[tuple[Any, ...], int]:
    values: list[Any] = []
    size = 0
    for field in TABLE[cls]:
        value = getattr(message, field.name)
        if field.column is not None:
            value = np.array(value, NUMPY_TYPES[field.column.dtype], order="C")
            if value.ndim != field.column.ndim:
                raise ValueError(f"{cls.__name__} field {field.name!r}: {value.ndim} dimensions")
            size += value.nbytes
        values.append(value)
    return tuple(values), size


def _copy_image(message: Image, keep_pixels: bool) -> tuple[tuple[Any, ...], int]:
    height, width = message.pixels.shape[:2]
    pixels = message.pixels.tobytes() if keep_pixels else None
    pose = np.array(message.world_from_camera, np.float64)
    return (
        (message.encoding, height, width, message.camera, message.fovy_deg, pose, pixels),
        len(pixels or b""),
    )


def _stamp_columns(stamps: Sequence[tuple[int, Stamp, int]]) -> list[pa.Array]:
    orders, found, received = zip(*stamps, strict=True)
    return [
        pa.array(orders, pa.int64()),
        pa.array([s.source for s in found], pa.string()),
        pa.array([s.seq for s in found], pa.int64()),
        pa.array([s.observed_ns for s in found], pa.int64()),
        pa.array([s.sent_ns for s in found], pa.int64()),
        pa.array(received, pa.int64()),
        _basis_column([s.basis for s in found]),
    ]


def _basis_column(column: Sequence[tuple[Basis, ...]]) -> pa.Array:
    flat = [b for basis in column for b in basis]
    entries = pa.StructArray.from_arrays(
        [pa.array([getattr(b, f.name) for b in flat], f.type) for f in BASIS],
        fields=list(BASIS),
    )
    return pa.ListArray.from_arrays(_offsets([len(b) for b in column]), entries)


def _message_columns(cls: type, columns: Sequence[Sequence[Any]]) -> pa.StructArray:
    arrays = []
    for field, column in zip(TABLE[cls], columns, strict=True):
        if field.scalar is not None:
            arrays.append(pa.array(column, SCALARS[field.scalar]))
        elif field.column is None:
            arrays.append(pa.array([list(v) for v in column], pa.list_(pa.string())))
        else:
            arrays.append(_array_column(field.column, column))
    return pa.StructArray.from_arrays(arrays, names=[f.name for f in TABLE[cls]])


def _array_column(column: Column, values: Sequence[Any]) -> pa.Array:
    flat = pa.array(np.concatenate([v.reshape(-1) for v in values]), ARROW_TYPES[column.dtype])
    if column.ndim == 1:
        return pa.ListArray.from_arrays(_offsets([len(v) for v in values]), flat)
    widths = np.repeat([v.shape[1] for v in values], [v.shape[0] for v in values])
    rows = pa.ListArray.from_arrays(_offsets(widths), flat)
    return pa.ListArray.from_arrays(_offsets([len(v) for v in values]), rows)


def _image_columns(cls: type, columns: Sequence[Sequence[Any]]) -> pa.StructArray:
    *scalars, poses, pixels = columns
    arrays = [pa.array(column, IMAGE.field(i).type) for i, column in enumerate(scalars)]
    flat = np.concatenate(poses)
    arrays.append(pa.ListArray.from_arrays(_offsets([len(p) for p in poses]), pa.array(flat)))
    packed = [None if p is None else pa.compress(p, codec="zstd", asbytes=True) for p in pixels]
    arrays.append(pa.array(packed, pa.binary()))
    return pa.StructArray.from_arrays(arrays, fields=list(IMAGE))


def _offsets(lengths: Sequence[int] | NDArray[Any]) -> pa.Array:
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.array(offsets)
