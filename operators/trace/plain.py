"""Messages as plain JSON values, for tools that know nothing of ours."""

from __future__ import annotations

import base64
import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from interlock.messages import Image, Received


def stamp_of(received: Received[Any]) -> dict[str, Any]:
    """Return the stamp of a message as JSON values."""
    return {**dataclasses.asdict(received.stamp), "received_ns": received.received_ns}


def fields_of(message: Any) -> dict[str, Any]:
    """Return the fields of a message as JSON values; arrays become lists, NaN becomes null."""
    return {f.name: _plain(getattr(message, f.name)) for f in dataclasses.fields(message)}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def raw_image(image: Image, sent_ns: int) -> dict[str, Any]:
    """Return a picture as Foxglove's ``RawImage``."""
    pixels = np.ascontiguousarray(image.pixels)
    height, width = pixels.shape[:2]
    return {
        "timestamp": {"sec": sent_ns // 10**9, "nsec": sent_ns % 10**9},
        "frame_id": image.camera,
        "width": width,
        "height": height,
        "encoding": image.encoding,
        "step": width * pixels.itemsize * (3 if pixels.ndim == 3 else 1),
        "data": base64.b64encode(pixels.tobytes()).decode(),
    }
