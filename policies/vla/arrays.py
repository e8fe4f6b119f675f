"""One array or scalar inside a message: how each convention writes it, and what is accepted.

The openpi form itself is `interlock.messages.arrays_msgpack`; here are the other two, and what
turns whatever a model sends into native floats.
"""

from __future__ import annotations

import base64
import binascii
import io
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.messages.arrays_msgpack import ALLOWED_KINDS, FrameError, array_from, encode
from interlock.policies.vla.errors import ReplyError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

#: The header of a .npy file as numpy writes it for plain arrays, padding included.
_NPY_HEADER = re.compile(
    rb"\x93NUMPY(?:\x01\x00..|\x02\x00....)\{'descr': '(?P<descr>[<>|=]?[a-zA-Z]\d{1,4})', "
    rb"'fortran_order': (?P<order>True|False), "
    rb"'shape': \((?P<shape>(?:\d{1,10},? ?){0,8})\), \} *\n",
    re.DOTALL,
)


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


def encode_openpi(value: Any) -> dict[bytes, Any]:
    """Return the map that stands for an array or a numpy scalar in openpi's convention."""
    return encode(value)


def encode_msgpack_numpy(value: Any) -> dict[bytes, Any]:
    """Return the map that stands for an array or a numpy scalar in msgpack-numpy's convention."""
    form = encode(value)
    if b"__ndarray__" in form:
        return {
            b"nd": True,
            b"type": form[b"dtype"],
            b"kind": b"",
            b"shape": form[b"shape"],
            b"data": form[b"data"],
        }
    return {b"nd": False, b"type": form[b"dtype"], b"data": value.tobytes()}


def encode_json(value: Any) -> Any:
    """Return what JSON holds for an array, a numpy scalar or bytes."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    form = encode(value)
    if b"__ndarray__" not in form:
        return form[b"data"]
    text = base64.b64encode(form[b"data"]).decode()
    return {"__numpy__": text, "dtype": form[b"dtype"], "shape": form[b"shape"]}


def encode_npy(value: Any) -> dict[str, Any]:
    """Return the map that stands for an array in the form GR00T servers speak: a .npy file."""
    if not isinstance(value, np.ndarray):
        return encode_msgpack_numpy(value)  # type: ignore[return-value]
    encode(value[:0])
    file = io.BytesIO()
    np.lib.format.write_array(file, np.ascontiguousarray(value), allow_pickle=False)
    return {"__ndarray_class__": True, "as_npy": file.getvalue()}


ENCODERS: dict[str, Callable[[Any], Any]] = {
    "npy": encode_npy,
    "openpi": encode_openpi,
    "msgpack-numpy": encode_msgpack_numpy,
}


def decode_map(item: dict[Any, Any]) -> Any:
    """Return the array or scalar that a map stands for, or the map itself.

    Raises:
        FrameError: If it stands for one that is not accepted.
    """
    if b"__ndarray__" in item or "__ndarray__" in item:
        return _array(_get(item, "dtype"), _get(item, "shape"), _get(item, "data"))
    if b"__npgeneric__" in item or "__npgeneric__" in item:
        return _scalar(_get(item, "dtype"), _get(item, "data"))
    if "__numpy__" in item:
        return _json_array(item)
    if "__ndarray_class__" in item:
        return _npy_array(item.get("as_npy"))
    if _get(item, "nd") is True:
        return _array(_get(item, "type"), _get(item, "shape"), _get(item, "data"))
    if _get(item, "nd") is False and _get(item, "type") is not None:
        return _array(_get(item, "type"), [], _get(item, "data"))[()]
    return item


def _get(item: Mapping[Any, Any], key: str) -> Any:
    return item.get(key.encode(), item.get(key))


def _json_array(item: Mapping[Any, Any]) -> NDArray[Any]:
    try:
        data = base64.b64decode(item["__numpy__"], validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise FrameError(f"its base64 is broken ({error})") from error
    return _array(item.get("dtype"), item.get("shape"), data)


def _npy_array(data: Any) -> NDArray[Any]:
    # numpy's own reader evaluates the header as Python and fails in many ways; this one in one.
    found = _NPY_HEADER.match(data) if isinstance(data, bytes) else None
    if found is None:
        raise FrameError("its .npy file has no plain header of version 1 or 2")
    text = found["shape"].decode().replace(",", " ").split()
    sizes = [int(size) for size in text]
    fortran_order = found["order"] == b"True"
    array = _array(
        found["descr"].decode(), sizes[::-1] if fortran_order else sizes, data[found.end() :]
    )
    return array.T if fortran_order else array


def _array(dtype: Any, shape: Any, data: Any) -> NDArray[Any]:
    name = dtype.decode("ascii", "replace") if isinstance(dtype, bytes) else dtype
    if name == "bfloat16":
        # bfloat16 is the upper half of a float32.
        halves = array_from("<u2", shape, data)
        return (halves.astype(np.uint32) << 16).view(np.float32)
    array = array_from(name, shape, data)
    if array.dtype.isnative or array.dtype.kind in "SU":
        return array
    return array.astype(array.dtype.newbyteorder("="))


def _scalar(dtype: Any, value: Any) -> Any:
    try:
        kind = np.dtype(str(dtype)[:12])
    except (TypeError, ValueError, SyntaxError) as error:
        raise FrameError(f"unknown dtype {_cut(dtype)}") from error
    if kind.kind not in ALLOWED_KINDS or not isinstance(value, bool | int | float | str | bytes):
        raise FrameError(f"dtype {_cut(dtype)} of {_cut(value)} is not accepted as a number")
    try:
        return kind.type(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise FrameError(f"{_cut(value)} is not a {kind}") from error


def _cut(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
