"""Arrays in msgpack, byte for byte as openpi sends them, without pickle and with finite sizes.

An array is a map with the byte-string keys ``__ndarray__``, ``data``, ``dtype`` and ``shape``, a
numpy scalar one with ``__npgeneric__``, ``data`` and ``dtype``. Everything else is plain msgpack.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgpack
import numpy as np

from interlock.messages.errors import MessageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Kinds of dtype that may cross the wire: bool, integers, floats, byte strings, text.
ALLOWED_KINDS = frozenset("biufSU")
#: Largest frame `unpack` reads unless told otherwise: three 1080p cameras and room to spare.
MAX_FRAME_BYTES = 64 * 2**20
MAX_DIMENSIONS = 16
#: One list or map item can cost 100 bytes of memory.
MAX_LIST_ITEMS = 1_000_000
MAX_MAP_ITEMS = 10_000
_SMALL_BYTES = 1024


class FrameError(MessageError):
    """A frame that is not openpi msgpack, or is larger than the reader allows."""


def pack(value: Any) -> bytes:
    """Return the msgpack form of maps, lists, text, numbers, arrays and numpy scalars.

    Raises:
        FrameError: If a value has no form on this wire (objects, complex numbers, times).
    """
    try:
        frame: bytes = msgpack.packb(value, default=encode)
    except FrameError:
        raise
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise FrameError(f"cannot send this value: {error}") from error
    return frame


def unpack(frame: bytes | bytearray | memoryview, *, max_bytes: int = MAX_FRAME_BYTES) -> Any:
    """Return the value of one frame; arrays are read-only views on the frame.

    Args:
        frame: One whole msgpack value.
        max_bytes: Largest frame accepted, in bytes.

    Raises:
        FrameError: If the frame is too large, is cut off, has bytes left over, or holds an array
            whose dtype, shape and data do not fit together.
    """
    size = memoryview(frame).nbytes
    if size > max_bytes:
        raise FrameError(
            f"a frame of {size} bytes is over the limit of {max_bytes}; send less or raise it"
        )
    try:
        return msgpack.unpackb(
            frame,
            object_hook=_decode,
            max_array_len=MAX_LIST_ITEMS,
            max_map_len=MAX_MAP_ITEMS,
            max_ext_len=0,
        )
    except FrameError:
        raise
    except (ValueError, TypeError, RecursionError, msgpack.exceptions.UnpackException) as error:
        raise FrameError(f"not a msgpack frame: {type(error).__name__} {error}"[:200]) from error


def encode(value: Any) -> dict[bytes, Any]:
    """Return the map that stands for an array or a numpy scalar (a msgpack ``default``)."""
    if isinstance(value, np.ndarray):
        dtype = _checked_kind(value.dtype)
        return {
            b"__ndarray__": True,
            b"data": _buffer(value),
            b"dtype": dtype.str,
            b"shape": value.shape,
        }
    if isinstance(value, np.generic):
        dtype = _checked_kind(value.dtype)
        return {b"__npgeneric__": True, b"data": value.item(), b"dtype": dtype.str}
    raise FrameError(f"cannot send a {type(value).__name__}; convert it to an array or a number")


def _buffer(array: NDArray[Any]) -> bytes | memoryview:
    # A view saves one copy of every camera image; it exists only for contiguous memory.
    if array.nbytes > _SMALL_BYTES and array.flags.c_contiguous and array.dtype.kind in "biuf":
        return array.data.cast("B")
    return array.tobytes()


def _checked_kind(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.kind not in ALLOWED_KINDS:
        raise FrameError(
            f"dtype {dtype.str!r} does not cross the wire; use numbers, booleans or text"
        )
    return dtype


def _decode(item: dict[Any, Any]) -> Any:
    if b"__ndarray__" in item:
        return _decode_array(item)
    if b"__npgeneric__" in item:
        return _decode_scalar(item)
    return item


def _decode_array(item: dict[Any, Any]) -> NDArray[Any]:
    return array_from(item.get(b"dtype"), item.get(b"shape"), item.get(b"data"))


def array_from(dtype_name: object, shape: object, data: object) -> NDArray[Any]:
    """Return a read-only array over ``data`` once dtype, shape and size are known to fit.

    Raises:
        FrameError: If they do not fit, or the dtype does not cross this wire.
    """
    dtype = _dtype(dtype_name)
    if not isinstance(data, bytes):
        raise FrameError(f"array data must be bytes, got {type(data).__name__}")
    if not isinstance(shape, list) or len(shape) > MAX_DIMENSIONS:
        raise FrameError(f"array shape must be a list of at most {MAX_DIMENSIONS} sizes")
    if any(type(size) is not int or size < 0 for size in shape):
        raise FrameError(f"array shape must hold sizes of 0 or more, got {str(shape)[:60]}")
    needed = math.prod(shape) * dtype.itemsize
    if needed != len(data) or (dtype.itemsize == 0 and math.prod(shape) > 0):
        raise FrameError(
            f"an array {dtype.str} of shape {str(shape)[:60]} needs {needed} bytes, got {len(data)}"
        )
    try:
        return np.ndarray(buffer=data, dtype=dtype, shape=tuple(shape))
    except (ValueError, OverflowError) as error:
        raise FrameError(f"array of shape {str(shape)[:60]}: {error}") from error


def _decode_scalar(item: dict[Any, Any]) -> Any:
    dtype, data = _dtype(item.get(b"dtype")), item.get(b"data")
    if not isinstance(data, bool | int | float | str | bytes):
        raise FrameError(f"a numpy scalar cannot be made from {type(data).__name__}")
    try:
        return dtype.type(data)
    except (ValueError, TypeError, OverflowError) as error:
        raise FrameError(f"{str(data)[:40]!r} is not a {dtype.str}") from error


def _dtype(text: object) -> np.dtype[Any]:
    if not isinstance(text, str) or len(text) > 12 or "," in text or "(" in text:
        raise FrameError(f"dtype must be short text such as '<f4', got {str(text)[:40]!r}")
    try:
        dtype = np.dtype(text)
    except (TypeError, ValueError, SyntaxError) as error:
        raise FrameError(f"unknown dtype {text!r}") from error
    return _checked_kind(dtype)
