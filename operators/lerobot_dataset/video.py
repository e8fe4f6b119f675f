"""Encode the frames of one camera as they come: H.264, exact timestamps, short groups."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.operators.lerobot_dataset.layout import DatasetError
from interlock.operators.lerobot_dataset.schema import pixel_format
from interlock.operators.lerobot_dataset.stats import ImageStats

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

#: Short groups of pictures make single frames cheap to reach; without B-frames every frame's
#: time is its number over the rate, and the first one is at 0.
_OPTIONS = {"preset": "superfast", "crf": "20", "g": "8", "bf": "0"}
_log = logging.getLogger(__name__)


class VideoFile:
    """One video under way.

    After a failure the frames that follow are kept as arrays in ``kept``, and `close` raises.

    Args:
        path: Where the video grows.
        fps: Frames per second.
        kept: Folder for raw frames after a failure.
    """

    def __init__(self, path: Path, *, fps: int, kept: Path) -> None:
        self.path = path
        self.frames = 0
        self.stats = ImageStats()
        self.error: Exception | None = None
        self._fps = fps
        self._kept = kept
        self._container: Any = None
        self._stream: Any = None

    def add(self, image: NDArray[np.uint8]) -> None:
        """Encode an RGB frame, shape (h, w, 3)."""
        self.stats.add(image)
        if self.error is None:
            try:
                self._encode(image)
            except Exception as error:
                self.error = error
                _log.exception("encoding %s failed at frame %d", self.path.name, self.frames)
        if self.error is not None:
            self._kept.mkdir(parents=True, exist_ok=True)
            np.save(self._kept / f"frame-{self.frames:06d}.npy", image)
        self.frames += 1

    def close(self) -> None:
        """Finish the file.

        Raises:
            DatasetError: If a frame could not be encoded.
        """
        if self._container is not None:
            if self.error is None:
                for packet in self._stream.encode():
                    self._container.mux(packet)
            self._container.close()
            self._container = None
        if self.error is not None:
            raise DatasetError(
                f"{self.path.name}: encoding failed ({self.error}); raw frames are in {self._kept}"
            )

    def drop(self) -> None:
        """Give the file up."""
        if self._container is not None:
            self._container.close()
            self._container = None
        self.path.unlink(missing_ok=True)

    def _encode(self, image: NDArray[np.uint8]) -> None:
        import av

        height, width = image.shape[:2]
        if self._container is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._container = av.open(str(self.path), "w", format="mp4")
            self._stream = self._container.add_stream("libx264", rate=self._fps, options=_OPTIONS)
            self._stream.height, self._stream.width = height, width
            self._stream.pix_fmt = pixel_format(height, width)
            # One thread: recording must not take the cores of the control loop.
            self._stream.codec_context.thread_count = 1
        frame = av.VideoFrame.from_ndarray(image, format="rgb24")
        frame.pts = self.frames
        for packet in self._stream.encode(frame):
            self._container.mux(packet)


def count_frames(path: Path) -> int:
    """Return how many frames a video holds, by reading its packets.

    Raises:
        DatasetError: If it can't be opened.
    """
    import av

    try:
        with av.open(str(path)) as container:
            return sum(packet.size > 0 for packet in container.demux(video=0))
    except (OSError, ValueError, IndexError) as error:
        raise DatasetError(f"{path}: not a readable video ({error})") from error
