"""Messages to Arrow and back: one table for all types, the schema checked on decode.

A message is a struct array of one row, so that a trace on disk has real columns. Pictures are flat
arrays with their shape in the metadata, as every dora camera sends them. Arrays are decoded as
read-only views of the received buffer.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from interlock.messages import command, robot, task
from interlock.messages.errors import MessageError, nearest
from interlock.messages.fields import (
    Field,
    column_type,
    decode_field,
    described,
    encode_field,
    fields_of,
    fits,
)
from interlock.messages.image import Image
from interlock.messages.image_codec import decode_image, encode_image

if TYPE_CHECKING:
    from collections.abc import Mapping

_TYPES: tuple[type, ...] = (
    robot.RobotState,
    robot.ObjectPoses,
    robot.WorldValue,
    command.Command,
    command.AdmittedCommand,
    command.Verdict,
    task.TaskRequest,
    task.Grant,
    task.Heartbeat,
    task.Cancel,
    task.Stop,
    task.Reset,
    task.GateStatus,
    task.Goal,
    task.Feedback,
    task.Result,
    task.Event,
)

#: Message type -> its columns. Image is apart: it is a flat array.
TABLE: dict[type, tuple[Field, ...]] = {cls: fields_of(cls) for cls in _TYPES}
#: Name on the wire -> message type.
NAMES: dict[str, type] = {cls.__name__: cls for cls in (*_TYPES, Image)}

#: Arrow types already found to fit, per message type; a handful each, since matrices vary in width.
_accepted: dict[type, list[pa.DataType]] = {cls: [] for cls in _TYPES}


@cache
def _struct_type(fields: tuple[Field, ...], widths: tuple[int, ...]) -> pa.DataType:
    columns = zip(fields, widths, strict=True)
    return pa.struct([(f.name, column_type(f, width)) for f, width in columns])


def encode(message: Any) -> tuple[pa.Array, dict[str, Any]]:
    """Return the payload of a message and the metadata that goes with it.

    Raises:
        MessageError: If it is not a message, or a field has the wrong type or shape.
    """
    if isinstance(message, Image):
        return encode_image(message)
    cls = type(message)
    fields = TABLE.get(cls)
    if fields is None:
        raise MessageError(f"{cls.__name__} is no message; {nearest(cls.__name__, NAMES)}")
    try:
        encoded = [encode_field(f, getattr(message, f.name)) for f in fields]
    except (TypeError, ValueError, OverflowError, pa.ArrowException) as error:
        raise MessageError(f"cannot encode {cls.__name__}: {error}") from error
    kind = _struct_type(fields, tuple(width for _, width in encoded))
    children = [array for array, _ in encoded]
    struct = pa.Array.from_buffers(kind, 1, [None], children=children)
    return struct, {"message": cls.__name__}


def decode(payload: pa.Array, metadata: Mapping[str, Any], *, where: str) -> Any:
    """Return the message of a payload, its arrays as views of the payload's buffer.

    Args:
        payload: What arrived.
        metadata: The metadata that arrived with it.
        where: The edge, ``node/output``, named in errors.

    Raises:
        MessageError: Naming the edge, the field, and what was expected and got.
    """
    name = metadata.get("message", "Image" if "encoding" in metadata else None)
    if not isinstance(name, str) or name not in NAMES:
        got = "nothing" if name is None else repr(name)[:60]
        raise MessageError(f"{where}: metadata 'message': expected a message type, got {got}")
    if name == "Image":
        return decode_image(payload, metadata, where=where)
    cls = NAMES[name]
    order = _check_type(cls, payload, where=where)
    columns = zip(TABLE[cls], order, strict=True)
    try:
        return cls(**{f.name: decode_field(f, payload.field(i)) for f, i in columns})
    except (TypeError, ValueError, OverflowError, pa.ArrowException) as error:
        raise MessageError(f"{where}: {name}: {error}") from error


def _check_type(cls: type, payload: pa.Array, *, where: str) -> range | list[int]:
    """Check the schema; return the index of each declared column in the payload."""
    if not isinstance(payload, pa.StructArray) or len(payload) != 1 or payload.null_count:
        kind, rows = (payload.type, len(payload)) if isinstance(payload, pa.Array) else ("?", "no")
        raise MessageError(
            f"{where}: {cls.__name__}: expected a struct of one row, "
            f"got {rows} rows of {str(kind)[:80]}"
        )
    fields, kind = TABLE[cls], payload.type
    if any(kind == accepted for accepted in _accepted[cls]):
        return range(len(fields))
    indices = [kind.get_field_index(field.name) for field in fields]
    for field, index in zip(fields, indices, strict=True):
        got = "nothing" if index < 0 else kind.field(index).type
        if index < 0 or not fits(field, got):
            raise MessageError(
                f"{where}: {cls.__name__} field {field.name!r}: expected {described(field)}, "
                f"got {got}"
            )
    # A foreign sender may order columns otherwise, or vary widths for ever.
    if indices == list(range(len(fields))) and len(_accepted[cls]) < 8:
        _accepted[cls].append(kind)
    return indices
