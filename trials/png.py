"""Draw coloured boxes from above and write them as PNG, with the standard library alone."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

COLOURS = {
    "red": (200, 40, 40),
    "green": (40, 160, 60),
    "blue": (40, 80, 200),
    "yellow": (230, 200, 40),
    "orange": (240, 140, 30),
    "purple": (140, 60, 170),
    "white": (245, 245, 245),
    "grey": (130, 130, 130),
    "black": (20, 20, 20),
    "pale": (225, 220, 190),
}
TABLE = (190, 190, 190)


def draw_boxes(
    boxes: Sequence[tuple[Sequence[float], tuple[float, float], str]],
    *,
    reach_m: float,
    width: int,
    height: int,
) -> bytes:
    """Return a PNG of boxes on a table of ``2 * reach_m`` squared.

    Args:
        boxes: Centre in m, extents in m, colour; later ones cover earlier ones.
        reach_m: Half the width of the table, in m.
        width: Width in pixels.
        height: Height in pixels.
    """
    rows = paint_boxes(boxes, reach_m=reach_m, width=width, height=height)
    return encode_rgb(b"".join(b"\0" + bytes(row) for row in rows), width=width, height=height)


def paint_boxes(
    boxes: Sequence[tuple[Sequence[float], tuple[float, float], str]],
    *,
    reach_m: float,
    width: int,
    height: int,
) -> list[bytearray]:
    """Return the rows of a picture, RGB, three bytes a pixel."""
    rows = [bytearray(bytes(TABLE) * width) for _ in range(height)]
    for centre, size, colour in boxes:
        left, right = _span(centre[0], size[0], reach_m, width)
        top, bottom = _span(-centre[1], size[1], reach_m, height)
        fill = bytes(COLOURS.get(colour, COLOURS["grey"])) * (right - left)
        for row in rows[top:bottom]:
            row[3 * left : 3 * right] = fill
    return rows


def encode_rgb(filtered_rows: bytes, *, width: int, height: int) -> bytes:
    """Return a PNG of 8-bit RGB rows, each with its filter byte 0 in front."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(filtered_rows, 1))
    return b"\x89PNG\r\n\x1a\n" + body + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    checksum = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)


def _span(centre_m: float, extent_m: float, reach_m: float, pixels: int) -> tuple[int, int]:
    scale = pixels / (2 * reach_m)
    low = round((centre_m - extent_m / 2 + reach_m) * scale)
    high = round((centre_m + extent_m / 2 + reach_m) * scale)
    return max(0, min(pixels, low)), max(0, min(pixels, max(high, low + 1)))
