"""Pictures as policies want them: turned, resized, padded, in their colour order and layout."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Literal

import numpy as np
from PIL import Image as Pillow

if TYPE_CHECKING:
    from numpy.typing import NDArray

Layout = Literal["hwc", "chw"]


def resize_with_pad(image: NDArray[np.uint8], *, height: int, width: int) -> NDArray[np.uint8]:
    """Scale a picture to fit, keep its proportions, and fill the rest with black.

    Sizes are cut, not rounded, and the picture is centred, as openpi and TensorFlow do it.

    Args:
        image: RGB or BGR, shape (h, w, 3), values 0 to 255.
        height: Height of the result, in pixels.
        width: Width of the result, in pixels.

    Returns:
        Shape (height, width, 3).
    """
    factor = max(image.shape[1] / width, image.shape[0] / height)
    inner_height = max(1, int(image.shape[0] / factor))
    inner_width = max(1, int(image.shape[1] / factor))
    return pad(resize(image, height=inner_height, width=inner_width), height=height, width=width)


def pad(image: NDArray[np.uint8], *, height: int, width: int) -> NDArray[np.uint8]:
    """Centre a picture that is not larger than (height, width) on black."""
    if image.shape[:2] == (height, width):
        return image
    top, left = (height - image.shape[0]) // 2, (width - image.shape[1]) // 2
    padded = np.zeros((height, width, image.shape[2]), np.uint8)
    padded[top : top + image.shape[0], left : left + image.shape[1]] = image
    return padded


def prepare(
    image: NDArray[np.uint8], *, degrees: int, flip: str, height: int, width: int, stretch: bool
) -> NDArray[np.uint8]:
    """Turn, flip, resize and pad; the same pixels as turning first, at a fraction of the time.

    Turning the small picture saves copying the large one; padding comes last, because an odd
    border is not symmetric.

    Args:
        image: Shape (h, w, 3).
        degrees: Counter-clockwise turn: 0, 90, 180 or 270.
        flip: ``none``, ``horizontal``, ``vertical`` or ``both``, after the turn.
        height: Height of the result, in pixels.
        width: Width of the result, in pixels.
        stretch: Fill the size, instead of keeping proportions and padding.
    """
    inner_height, inner_width = (width, height) if degrees % 180 else (height, width)
    if not stretch:
        factor = max(image.shape[1] / inner_width, image.shape[0] / inner_height)
        inner_height = max(1, int(image.shape[0] / factor))
        inner_width = max(1, int(image.shape[1] / factor))
    small = resize(image, height=inner_height, width=inner_width)
    return pad(turn(small, degrees=degrees, flip=flip), height=height, width=width)


def resize(image: NDArray[np.uint8], *, height: int, width: int) -> NDArray[np.uint8]:
    """Scale a picture to a size, stretching it if need be (bilinear, with antialiasing).

    Args:
        image: Shape (h, w, 3), values 0 to 255.
        height: Height of the result, in pixels.
        width: Width of the result, in pixels.
    """
    if image.shape[:2] == (height, width):
        return image
    picture = Pillow.fromarray(np.ascontiguousarray(image))
    return np.asarray(picture.resize((width, height), Pillow.Resampling.BILINEAR))


def turn(image: NDArray[np.uint8], *, degrees: int, flip: str) -> NDArray[np.uint8]:
    """Turn a picture counter-clockwise by a multiple of 90 degrees, then flip it; a view.

    Args:
        image: Shape (h, w, ...).
        degrees: 0, 90, 180 or 270.
        flip: ``none``, ``horizontal`` (left to right), ``vertical`` or ``both``.
    """
    if degrees:
        image = np.rot90(image, degrees // 90)
    if flip in ("horizontal", "both"):
        image = image[:, ::-1]
    if flip in ("vertical", "both"):
        image = image[::-1]
    return image


def to_layout(image: NDArray[np.uint8], layout: Layout) -> NDArray[np.uint8]:
    """Return the picture as (h, w, 3), or channels first as (3, h, w)."""
    return image if layout == "hwc" else np.moveaxis(image, -1, 0)


def encode_png(image: NDArray[np.uint8], *, fast: bool = True) -> bytes:
    """Return a picture, shape (h, w, 3) RGB or (h, w) grey, as a PNG file."""
    file = io.BytesIO()
    Pillow.fromarray(np.ascontiguousarray(image)).save(file, "PNG", compress_level=1 if fast else 6)
    return file.getvalue()


def decode_png(data: bytes, *, most_pixels: int = 4096 * 4096) -> NDArray[np.uint8]:
    """Return a PNG file as RGB, shape (h, w, 3).

    Raises:
        ValueError: If it is no PNG, or has more pixels than allowed.
    """
    try:
        picture = Pillow.open(io.BytesIO(data), formats=["PNG"])
        if picture.width * picture.height > most_pixels:
            raise ValueError(f"{picture.width}x{picture.height} pixels, limit {most_pixels}")
        return np.asarray(picture.convert("RGB"))
    except (OSError, SyntaxError, Pillow.DecompressionBombError) as error:
        raise ValueError(f"not a PNG picture: {error}") from error
