"""One array or scalar inside a message: how each convention writes it, and what is accepted.

An array that is not accepted raises BadArrayError; the codec then finds the field it is in.
"""

from __future__ import annotations

import base64
import binascii
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.policies.vla.errors import ReplyError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

#: Array kinds that cross a wire: bool, integers, floats, text. Never objects, structs, complex.
_KINDS = frozenset("biufUS")
_MAX_DIMENSIONS = 8
#: Below this a copy is cheaper than handing msgpack a view.
_VIEW_FROM_BYTES = 4096


class BadArrayError(ValueError):
    """An array that can't be decoded; the field is found afterwards."""


def to_native(value: Any, *, field: str) -> NDArray[np.floating[Any]]:
    """Return numbers as a native float32 or float64 array.

    float32 and narrower (float16, bfloat16, big-endian float32) become float32; float64, whole
    numbers and nested lists become float64.

    Raises:
        ReplyError: Text, booleans, ragged lists, objects; it names the field and the dtype.
    """
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ReplyError(f"field {field!r}: ragged list, its rows differ in length") from error
    if array.dtype.kind not in "iuf" or array.dtype.itemsize > 8:
        shown = type(value).__name__ if array.dtype.kind == "O" else array.dtype.name
        raise ReplyError(f"field {field!r}: expected numbers, got {shown} {_cut(value)}")
    narrow = array.dtype.kind == "f" and array.dtype.itemsize <= 4
    return array.astype(np.float32 if narrow else np.float64, copy=False)


def _encode_openpi(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        _check_sendable(value.dtype)
        return {
            b"__ndarray__": True,
            b"data": _bytes(value),
            b"dtype": value.dtype.str,
            b"shape": value.shape,
        }
    if isinstance(value, np.generic):
        _check_sendable(value.dtype)
        return {b"__npgeneric__": True, b"data": value.item(), b"dtype": value.dtype.str}
    raise TypeError(f"a {type(value).__name__} has no place on the wire")


def _encode_msgpack_numpy(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        _check_sendable(value.dtype)
        return {
            b"nd": True,
            b"type": value.dtype.str,
            b"kind": b"",
            b"shape": value.shape,
            b"data": _bytes(value),
        }
    if isinstance(value, np.generic):
        _check_sendable(value.dtype)
        return {b"nd": False, b"type": value.dtype.str, b"data": value.tobytes()}
    raise TypeError(f"a {type(value).__name__} has no place on the wire")


ENCODERS: dict[str, Callable[[Any], Any]] = {
    "openpi": _encode_openpi,
    "msgpack-numpy": _encode_msgpack_numpy,
}


def encode_json(value: Any) -> Any:
    """Return what JSON holds for an array, a numpy scalar or bytes."""
    if isinstance(value, np.ndarray):
        _check_sendable(value.dtype)
        text = base64.b64encode(_bytes(value)).decode()
        return {"__numpy__": text, "dtype": value.dtype.str, "shape": value.shape}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise TypeError(f"a {type(value).__name__} has no place on the wire")


def _check_sendable(dtype: np.dtype[Any]) -> None:
    if dtype.kind not in _KINDS:
        raise ValueError(f"dtype {dtype} is not sent; use a plain number, bool or text array")


def _bytes(array: NDArray[Any]) -> bytes | memoryview:
    """Return the array's bytes in C order, without a copy where it is large enough to matter."""
    if array.nbytes < _VIEW_FROM_BYTES:
        return array.tobytes()
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def decode_map(item: dict[Any, Any]) -> Any:
    """Return the array or scalar that a map stands for, or the map itself."""
    if not ({b"__ndarray__", "__ndarray__", b"nd", "nd"} & item.keys()):
        if b"__npgeneric__" in item or "__npgeneric__" in item:
            return _scalar(_get(item, "dtype"), _get(item, "data"))
        if "__numpy__" in item:
            return _json_array(item)
        return item
    if b"__ndarray__" in item or "__ndarray__" in item:
        return _array(_get(item, "dtype"), _get(item, "shape"), _get(item, "data"))
    if _get(item, "nd") is True:
        return _array(_get(item, "type"), _get(item, "shape"), _get(item, "data"))
    if _get(item, "type") is None:
        return item
    return _array(_get(item, "type"), [], _get(item, "data"))[()]


def _get(item: Mapping[Any, Any], key: str) -> Any:
    return item.get(key.encode(), item.get(key))


def _json_array(item: Mapping[Any, Any]) -> NDArray[Any]:
    try:
        data = base64.b64decode(item["__numpy__"], validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise BadArrayError(f"its base64 is broken ({error})") from error
    return _array(item.get("dtype"), item.get("shape"), data)


def _dtype(name: Any) -> np.dtype[Any]:
    text = name.decode("ascii", "replace") if isinstance(name, bytes) else name
    if text == "bfloat16":
        return np.dtype("<u2")
    try:
        dtype = np.dtype(text) if isinstance(text, str) else None
    except (TypeError, ValueError, SyntaxError):
        dtype = None
    if dtype is None or dtype.kind not in _KINDS or dtype.itemsize == 0 or dtype.itemsize > 1024:
        raise BadArrayError(f"dtype {str(text)[:40]!r} is not accepted; send float32")
    return dtype


def _array(name: Any, shape: Any, data: Any) -> NDArray[Any]:
    dtype = _dtype(name)
    sizes = _shape(shape)
    if not isinstance(data, bytes):
        raise BadArrayError(f"its data is {type(data).__name__}, not bytes")
    expected = math.prod(sizes) * dtype.itemsize
    if len(data) != expected:
        raise BadArrayError(
            f"shape {list(sizes)} of {dtype} needs {expected} bytes, got {len(data)}"
        )
    array: NDArray[Any] = np.ndarray(sizes, dtype, buffer=data) if data else np.empty(sizes, dtype)
    if name in ("bfloat16", b"bfloat16"):
        # bfloat16 is the upper half of a float32.
        return (array.astype(np.uint32) << 16).view(np.float32)
    return array if dtype.isnative or dtype.kind in "US" else array.astype(dtype.newbyteorder("="))


def _shape(shape: Any) -> tuple[int, ...]:
    if not isinstance(shape, list | tuple) or len(shape) > _MAX_DIMENSIONS:
        raise BadArrayError(f"shape {_cut(shape)} is not a list of at most {_MAX_DIMENSIONS} sizes")
    if any(type(n) is not int or n < 0 for n in shape):
        raise BadArrayError(f"shape {_cut(shape)} holds something that is not a size")
    return tuple(shape)


def _scalar(name: Any, value: Any) -> Any:
    dtype = _dtype(name)
    try:
        return dtype.type(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadArrayError(f"{_cut(value)} is not a {dtype}") from error


def _cut(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
