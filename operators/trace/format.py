"""The trace on disk: a folder of Arrow stream files, one per output, that any Arrow tool opens.

A run folder holds ``trace/``::

    meta.json                                 run id, dataflow, versions, seed, clock
    simulator--state.RobotState.0000.arrows   every message of simulator/state
    camera--image.Image.0000.arrows           pictures, with their pixels compressed one by one
    summary.json                              at the end: counts, gaps, latencies, what was left out

Each file is an Arrow IPC *stream*, appended to in whole record batches. A batch that was written
is readable from then on, also after ``kill -9``; a torn last batch is ignored by our reader. There
is no end-of-stream mark, which the format allows. A new part (``.0001``) starts when the trace
restarts. With pyarrow: ``pyarrow.ipc.open_stream(path).read_all()``; with Polars:
``polars.read_ipc_stream(path)``; DuckDB queries either result in place.

Columns of every file:

==============  ====================================================================================
``order``       count of all messages as they reached the trace, over all outputs, from 0
``source``      node that sent the message
``seq``         its number on this output, from 0
``observed_ns`` when the world was like this, in ns on the dataflow's clock
``sent_ns``     when it was sent
``received_ns`` when the trace received it
``basis``       list of {source, output, seq, observed_ns, received_ns}: what it was computed from
``message``     the message: a struct with one field per attribute of its type; matrices are lists
                of rows
==============  ====================================================================================

The schema's metadata name the output (``interlock.source``, ``interlock.output``), the message
type (``interlock.message``) and the version of this format (``interlock.format``).

Pictures have ``encoding, height, width, camera, fovy_deg, world_from_camera`` and ``pixels``: the
rows of the picture, zstd-compressed. ``pixels`` is null where the picture was left out (settings
``images`` and ``image_budget_mb``); the row is there all the same, so that nothing vanishes
silently, and the summary counts them.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pyarrow as pa

from interlock.messages import Image, InterlockError
from interlock.messages.codec import NAMES, TABLE
from interlock.messages.fields import ARROW_TYPES

if TYPE_CHECKING:
    from pathlib import Path

    from interlock.messages.columns import Column

VERSION = "1"
FOLDER = "trace"
SUFFIX = ".arrows"

SCALARS: dict[type, pa.DataType] = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
}
BASIS = pa.struct(
    [
        ("source", pa.string()),
        ("output", pa.string()),
        ("seq", pa.int64()),
        ("observed_ns", pa.int64()),
        ("received_ns", pa.int64()),
    ]
)
STAMP = [
    pa.field("order", pa.int64()),
    pa.field("source", pa.string()),
    pa.field("seq", pa.int64()),
    pa.field("observed_ns", pa.int64()),
    pa.field("sent_ns", pa.int64()),
    pa.field("received_ns", pa.int64()),
    pa.field("basis", pa.list_(BASIS)),
]
IMAGE = pa.struct(
    [
        ("encoding", pa.string()),
        ("height", pa.int64()),
        ("width", pa.int64()),
        ("camera", pa.string()),
        ("fovy_deg", pa.float64()),
        ("world_from_camera", pa.list_(pa.float64())),
        ("pixels", pa.binary()),
    ]
)


class TraceError(InterlockError):
    """A trace that can't be written or read."""


def message_type(cls: type) -> pa.DataType:
    """Return the Arrow type of the ``message`` column for a message type."""
    if cls is Image:
        return IMAGE
    fields = []
    for field in TABLE[cls]:
        if field.scalar is not None:
            kind = SCALARS[field.scalar]
        elif field.column is None:
            kind = pa.list_(pa.string())
        else:
            kind = array_type(field.column)
        fields.append((field.name, kind))
    return pa.struct(fields)


def array_type(column: Column) -> pa.DataType:
    """Return the Arrow type of an array field: a list, or a list of rows."""
    inner = pa.list_(ARROW_TYPES[column.dtype])
    return inner if column.ndim == 1 else pa.list_(inner)


def schema(cls: type, *, source: str, output: str) -> pa.Schema:
    """Return the schema of the file for one output."""
    metadata = {
        "interlock.format": VERSION,
        "interlock.source": source,
        "interlock.output": output,
        "interlock.message": cls.__name__,
    }
    return pa.schema([*STAMP, pa.field("message", message_type(cls))], metadata=metadata)


def names(found: pa.Schema, *, path: Path) -> tuple[str, str, type]:
    """Return source, output and message type of a file's schema.

    Raises:
        TraceError: If it isn't a trace file of a version that we read.
    """
    metadata = {k.decode(): v.decode() for k, v in (found.metadata or {}).items()}
    version = metadata.get("interlock.format")
    if version != VERSION:
        raise TraceError(
            f"{path}: expected an Interlock trace of version {VERSION}, got {version or 'another'} "
            "file. Read it with the release that wrote it."
        )
    name = metadata.get("interlock.message", "")
    if name not in NAMES:
        raise TraceError(f"{path}: message type {name!r} is not known to this release")
    source, output, cls = metadata["interlock.source"], metadata["interlock.output"], NAMES[name]
    recorded = {f.name: f.type for f in found.field("message").type}
    for field in message_type(cls):
        # A field that is newer than the trace has its default; one that changed can't be read.
        if (
            recorded.get(field.name, field.type if field.name in defaults(cls) else None)
            != field.type
        ):
            raise TraceError(f"{path}: column {field.name!r} of {name} differs from this release's")
    return source, output, cls


def defaults(cls: type) -> dict[str, Any]:
    """Return the default of every field of a message type that has one."""
    found = {}
    for field in dataclasses.fields(cls):
        if field.default is not dataclasses.MISSING:
            found[field.name] = field.default
        elif field.default_factory is not dataclasses.MISSING:
            found[field.name] = field.default_factory()
    return found


def file_name(source: str, output: str, cls: type, part: int) -> str:
    """Return the name of a part file; names outside letters, digits and _.- are escaped."""
    edge = f"{quote(source, safe='')}--{quote(output, safe='')}"
    return f"{edge}.{cls.__name__}.{part:04d}{SUFFIX}"


def next_part(folder: Path) -> int:
    """Return the first part number that no file in the folder has."""
    parts = [int(p.name.split(".")[-2]) for p in folder.glob(f"*.[0-9][0-9][0-9][0-9]{SUFFIX}")]
    return max(parts, default=-1) + 1
