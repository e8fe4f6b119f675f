"""Pictures to flat Arrow arrays with their shape in the metadata, and back without copying."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from interlock.messages.columns import empty
from interlock.messages.errors import MessageError, nearest
from interlock.messages.image import ENCODINGS, Image

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


def encode_image(message: Image) -> tuple[pa.Array, dict[str, Any]]:
    """Return the flat pixels of an image and the metadata that shapes them."""
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


def decode_image(payload: pa.Array, metadata: Mapping[str, Any], *, where: str) -> Image:
    """Return the image of a payload, its pixels as a view of the payload's buffer."""
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
        return empty()
    if not isinstance(value, list) or len(value) != 7:
        raise MessageError(f"{where}: Image field 'world_from_camera': expected 7 numbers")
    return np.array(value, np.float64)
