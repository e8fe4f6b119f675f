"""Arrays in msgpack and JSON as policy servers write them; no pickle, every size checked.

Four conventions are read; which one is written is the caller's choice:

* ``openpi``: a map with bytes keys ``__ndarray__``, ``data``, ``dtype``, ``shape``
* ``msgpack-numpy``: a map with bytes keys ``nd``, ``type``, ``kind``, ``shape``, ``data``
* ``npy``: a map with ``__ndarray_class__``, ``as_npy`` (a .npy file), as released GR00T servers
* ``json-numpy``: a map with ``__numpy__`` (base64), ``dtype``, ``shape``
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import msgpack

from interlock.messages.arrays_msgpack import FrameError
from interlock.policies.vla.arrays import ENCODERS, decode_map, encode_json
from interlock.policies.vla.errors import ReplyError

if TYPE_CHECKING:
    from collections.abc import Callable

Convention = Literal["openpi", "msgpack-numpy", "npy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The largest reply that is decoded; a list or map item can cost 100 bytes of memory."""

    frame_bytes: int = 64 << 20
    list_items: int = 1_000_000
    map_items: int = 10_000


LIMITS = Limits()


def pack(value: Any, convention: Convention = "openpi") -> bytes:
    """Encode a value, arrays and numpy scalars included, as msgpack.

    Raises:
        ReplyError: If it holds something that can't cross the wire.
    """
    try:
        packed: bytes = msgpack.packb(value, default=ENCODERS[convention])
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise ReplyError(f"can't be sent: {error}") from error
    return packed


class FramePacker:
    """Packs one frame after another into the same memory: no copy, no fresh pages.

    The frame is valid until the next one is packed.
    """

    def __init__(self, convention: Convention = "openpi") -> None:
        self._encode = ENCODERS[convention]
        self._packer = self._new()
        self._frame = memoryview(b"")

    def pack(self, value: Any) -> memoryview:
        """Encode a value; see ``pack``."""
        try:
            self._frame.release()
            self._packer.reset()
        except BufferError:
            # Somebody still looks at the last frame (a traceback, say): leave it to them.
            self._packer = self._new()
        try:
            self._packer.pack(value)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise ReplyError(f"can't be sent: {error}") from error
        self._frame = self._packer.getbuffer()
        return self._frame

    def _new(self) -> Any:
        return msgpack.Packer(default=self._encode, autoreset=False)


def unpack(data: bytes, limits: Limits = LIMITS, *, what: str = "reply") -> Any:
    """Decode msgpack from a peer that is not trusted; arrays are read-only views of ``data``.

    Raises:
        ReplyError: Too large, not msgpack, or an array of a kind that is not allowed; it names
            the field and the dtype.
    """
    _check_size(len(data), limits, what)
    try:
        return _unpack(data, limits, decode_map)
    except FrameError as error:
        field = _locate(lambda: _unpack(data, limits, None))
        raise ReplyError(f"{what}: field {field!r}: {error}") from error
    except (msgpack.UnpackException, ValueError, TypeError, RecursionError) as error:
        reason = str(error) or type(error).__name__
        raise ReplyError(f"{what}: not valid msgpack ({reason}), {len(data)} bytes") from error


def pack_json(value: Any) -> bytes:
    """Encode a value as JSON, arrays as json-numpy maps and bytes as base64 text."""
    try:
        return json.dumps(value, default=encode_json).encode()
    except (ValueError, TypeError) as error:
        raise ReplyError(f"can't be sent: {error}") from error


def unpack_json(data: bytes, limits: Limits = LIMITS, *, what: str = "reply") -> Any:
    """Decode JSON from a peer that is not trusted, json-numpy arrays included.

    Raises:
        ReplyError: Too large, not JSON, or an array of a kind that is not allowed.
    """
    _check_size(len(data), limits, what)
    try:
        return json.loads(data, object_hook=decode_map)
    except FrameError as error:
        field = _locate(lambda: json.loads(data))
        raise ReplyError(f"{what}: field {field!r}: {error}") from error
    except (ValueError, RecursionError) as error:
        raise ReplyError(f"{what}: not valid JSON ({error}), {len(data)} bytes") from error


def _check_size(size: int, limits: Limits, what: str) -> None:
    if size > limits.frame_bytes:
        raise ReplyError(
            f"{what}: {size} bytes, limit {limits.frame_bytes}; raise wire.max_frame_bytes"
        )


def _unpack(data: bytes, limits: Limits, hook: Callable[[Any], Any] | None) -> Any:
    return msgpack.unpackb(
        data,
        object_hook=hook,
        strict_map_key=True,
        max_array_len=limits.list_items,
        max_map_len=limits.map_items,
        max_ext_len=0,
    )


def _locate(read: Callable[[], Any]) -> str:
    """Return the path of the first array that can't be decoded."""

    def walk(item: Any, path: str) -> str | None:
        if isinstance(item, dict):
            for key, value in item.items():
                name = key.decode("utf-8", "replace") if isinstance(key, bytes) else str(key)
                if found := walk(value, f"{path}.{name}" if path else name):
                    return found
            return path if _is_bad(item) else None
        if isinstance(item, list):
            paths = (walk(value, f"{path}[{i}]") for i, value in enumerate(item))
            return next((found for found in paths if found), None)
        return None

    try:
        whole = read()
    except (msgpack.UnpackException, ValueError, TypeError, RecursionError):
        return "(somewhere in a broken frame)"
    return walk(whole, "") or "(top)"


def _is_bad(item: dict[Any, Any]) -> bool:
    try:
        decode_map(item)
    except FrameError:
        return True
    return False
