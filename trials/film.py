"""Encode a trial's video in a process of its own: states come in, pictures are drawn there.

Run as ``python -m interlock.trials.film``. The first line of the input is JSON: painter, setup,
size, rate, file; then follow frames, each its length (4 bytes, big endian) and its bytes.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

MAX_FRAME = 16 * 1024 * 1024


class Painter(Protocol):
    """Draws a frame."""

    def paint(self, frame: bytes) -> NDArray[np.uint8]:
        """Return RGB, shape (height, width, 3)."""
        ...


def main() -> None:
    """Draw and encode until the input ends."""
    source = sys.stdin.buffer
    order = json.loads(source.readline())
    module, _, name = order["painter"].partition(":")
    painter: Painter = getattr(importlib.import_module(module), name)(
        order["setup"], width=order["width"], height=order["height"]
    )
    encode(frames(source), painter, Path(order["file"]), order)


def frames(source: IO[bytes]) -> Iterator[bytes]:
    """Yield frames; a last one that was cut off is left out."""
    while len(head := source.read(4)) == 4:
        size = int.from_bytes(head, "big")
        data = source.read(size) if size <= MAX_FRAME else b""
        if len(data) != size:
            return
        yield data


def encode(incoming: Iterator[bytes], painter: Painter, file: Path, order: dict[str, Any]) -> None:
    """Write an H.264 file, readable by browsers."""
    import av

    with av.open(str(file), "w", format="mp4", options={"movflags": "+faststart"}) as container:
        stream = container.add_stream("libx264", rate=order["fps"])
        stream.width, stream.height, stream.pix_fmt = order["width"], order["height"], "yuv420p"
        stream.options = {"preset": "veryfast", "crf": "26"}
        for data in incoming:
            frame = av.VideoFrame.from_ndarray(painter.paint(data), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


if __name__ == "__main__":
    main()
