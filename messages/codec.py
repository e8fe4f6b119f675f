"""Messages to Arrow and back: one table for all types, the schema checked on decode.

A message is a struct array of one row, so that a trace on disk has real columns. Pictures are flat
arrays with their shape in the metadata, as every dora camera sends them. Arrays are decoded as
read-only views of the received buffer.
"""

from __future__ import annotations

import dataclasses
import typing
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from interlock.messages import columns, command, robot, task
from interlock.messages.columns import ARROW_TYPES, NUMPY_TYPES, Column
from interlock.messages.errors import MessageError, nearest
from interlock.messages.image import ENCODINGS, Image

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

_SCALARS: dict[type, pa.DataType] = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
}


@dataclasses.dataclass(frozen=True, slots=True)
class _Field:
    """One column of a message type: a scalar, a list of text, or an array."""

    name: str
    scalar: type | None
    column: Column | None


def _fields(cls: type) -> tuple[_Field, ...]:
    hints = typing.get_type_hints(cls, include_extras=True)
    found = []
    for field in dataclasses.fields(cls):
        hint = hints[field.name]
        extras = getattr(hint, "__metadata__", ())
        column = next((e for e in extras if isinstance(e, Column)), None)
        scalar = hint if hint in _SCALARS else None
        if typing.get_origin(hint) is typing.Literal:
            scalar = str
        found.append(_Field(field.name, scalar, column))
    return tuple(found)


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
TABLE: dict[type, tuple[_Field, ...]] = {cls: _fields(cls) for cls in _TYPES}
#: Name on the wire -> message type.
NAMES: dict[str, type] = {cls.__name__: cls for cls in (*_TYPES, Image)}

_checked: dict[tuple[type, pa.DataType], bool] = {}


def encode(message: Any) -> tuple[pa.Array, dict[str, Any]]:
    """Return the payload of a message and the metadata that goes with it.

    Raises:
        MessageError: If it is not a message, or a field has the wrong type or shape.
    """
    if isinstance(message, Image):
        return _encode_image(message)
    cls = type(message)
    fields = TABLE.get(cls)
    if fields is None:
        raise MessageError(f"{cls.__name__} is no message; {nearest(cls.__name__, NAMES)}")
    try:
        arrays = [_encode_field(f, getattr(message, f.name)) for f in fields]
    except (TypeError, ValueError, pa.ArrowInvalid) as error:
        raise MessageError(f"cannot encode {cls.__name__}: {error}") from error
    struct = pa.StructArray.from_arrays(arrays, names=[f.name for f in fields])
    return struct, {"message": cls.__name__}


def _encode_field(field: _Field, value: Any) -> pa.Array:
    if field.scalar is not None:
        return pa.array([value], _SCALARS[field.scalar])
    if field.column is None:
        return pa.array([list(value)], pa.list_(pa.string()))
    array = np.ascontiguousarray(value, NUMPY_TYPES[field.column.dtype])
    if array.ndim != field.column.ndim:
        raise ValueError(
            f"field {field.name!r}: expected {field.column.ndim} dimensions, got {array.ndim}"
        )
    flat = pa.array(array.reshape(-1))
    if field.column.ndim == 2:
        width = max(1, array.shape[1])
        flat = pa.FixedSizeListArray.from_arrays(flat, width)
    return pa.ListArray.from_arrays(pa.array([0, len(flat)], pa.int32()), flat)


def _encode_image(message: Image) -> tuple[pa.Array, dict[str, Any]]:
    if message.encoding not in ENCODINGS:
        raise MessageError(
            f"Image encoding {message.encoding!r}; {nearest(message.encoding, ENCODINGS)}"
        )
    dtype, channels = ENCODINGS[message.encoding]
    pixels = message.pixels
    expected = 2 if channels == 1 else 3
    if pixels.dtype != dtype or pixels.ndim != expected or (expected == 3 and pixels.shape[2] != 3):
        raise MessageError(
            f"Image {message.encoding}: expected {dtype} with {expected} dimensions, "
            f"got {pixels.dtype} of shape {pixels.shape}"
        )
    metadata: dict[str, Any] = {
        "message": "Image",
        "encoding": message.encoding,
        "height": int(pixels.shape[0]),
        "width": int(pixels.shape[1]),
        "camera": message.camera,
        "fovy_deg": float(message.fovy_deg),
    }
    if message.world_from_camera.size:
        metadata["world_from_camera"] = [float(x) for x in message.world_from_camera]
    return pa.array(np.ascontiguousarray(pixels).reshape(-1)), metadata


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
        return _decode_image(payload, metadata, where=where)
    cls = NAMES[name]
    _check_type(cls, payload, where=where)
    try:
        return cls(**{f.name: _decode_field(f, payload.field(f.name)) for f in TABLE[cls]})
    except (TypeError, ValueError, OverflowError, pa.ArrowInvalid) as error:
        raise MessageError(f"{where}: {name}: {error}") from error


def _check_type(cls: type, payload: pa.Array, *, where: str) -> None:
    if not isinstance(payload, pa.StructArray) or len(payload) != 1 or payload.null_count:
        got = f"{payload.type} with {len(payload)} rows" if isinstance(payload, pa.Array) else "?"
        raise MessageError(f"{where}: {cls.__name__}: expected a struct of one row, got {got:.120}")
    if (cls, payload.type) in _checked:
        return
    for field in TABLE[cls]:
        index = payload.type.get_field_index(field.name)
        got = "nothing" if index < 0 else payload.type.field(index).type
        if index < 0 or not _fits(field, got):
            raise MessageError(
                f"{where}: {cls.__name__} field {field.name!r}: expected {_described(field)}, "
                f"got {got}"
            )
    if len(_checked) < 1000:  # a foreign sender may vary the type for ever
        _checked[cls, payload.type] = True


def _fits(field: _Field, got: pa.DataType) -> bool:
    if field.scalar is not None:
        return bool(got == _SCALARS[field.scalar])
    if not pa.types.is_list(got):
        return False
    if field.column is None:
        return bool(got.value_type == pa.string())
    element = ARROW_TYPES[field.column.dtype]
    if field.column.ndim == 1:
        return bool(got.value_type == element)
    inner = got.value_type
    return bool(pa.types.is_fixed_size_list(inner) and inner.value_type == element)


def _described(field: _Field) -> str:
    if field.scalar is not None:
        return str(_SCALARS[field.scalar])
    if field.column is None:
        return "list<string>"
    return f"{field.column.dtype} with {field.column.ndim} dimensions"


def _decode_field(field: _Field, array: pa.Array) -> Any:
    if array.null_count:
        raise ValueError(f"field {field.name!r} is null")
    if field.scalar is not None:
        return array[0].as_py()
    if field.column is None:
        return _decode_texts(field, array)
    if array.offset:
        flat = array.flatten()
    else:
        flat = array.values
        if len(flat) != array.value_lengths()[0].as_py():
            flat = array.flatten()
    if field.column.ndim == 1:
        return flat.to_numpy(zero_copy_only=True)
    width = flat.type.list_size
    inner = flat.flatten() if flat.offset else flat.values
    return inner.to_numpy(zero_copy_only=True)[: len(flat) * width].reshape(len(flat), width)


def _decode_texts(field: _Field, array: pa.Array) -> tuple[str, ...]:
    texts = array[0].as_py()
    if any(t is None for t in texts):
        raise ValueError(f"field {field.name!r} holds a null")
    return tuple(texts)


def _decode_image(payload: pa.Array, metadata: Mapping[str, Any], *, where: str) -> Image:
    encoding = metadata.get("encoding")
    if encoding not in ENCODINGS:
        raise MessageError(
            f"{where}: Image encoding {encoding!r:.40}: {nearest(str(encoding)[:40], ENCODINGS)}"
        )
    dtype, channels = ENCODINGS[encoding]
    height, width = metadata.get("height"), metadata.get("width")
    if type(height) is not int or type(width) is not int or height < 1 or width < 1:
        raise MessageError(f"{where}: Image needs height and width, got {height!r}, {width!r}")
    expected = height * width * channels
    if payload.type != pa.from_numpy_dtype(dtype) or len(payload) != expected or payload.null_count:
        raise MessageError(
            f"{where}: Image {encoding} {width}x{height}: expected {expected} values of {dtype}, "
            f"got {len(payload)} of {payload.type}"
        )
    pixels: NDArray[Any] = payload.to_numpy(zero_copy_only=True)
    shape = (height, width) if channels == 1 else (height, width, channels)
    return Image(
        pixels=pixels.reshape(shape),
        encoding=encoding,
        camera=str(metadata.get("camera", "")),
        fovy_deg=float(metadata.get("fovy_deg", 0.0)),
        world_from_camera=_pose(metadata.get("world_from_camera"), where=where),
    )


def _pose(value: Any, *, where: str) -> NDArray[np.float64]:
    if value is None:
        return columns.empty()
    if not isinstance(value, list) or len(value) != 7:
        raise MessageError(f"{where}: Image field 'world_from_camera': expected 7 numbers")
    return np.array(value, np.float64)
