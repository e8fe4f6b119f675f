"""Draws the flat world from above, in the film process of a trial."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.trials.png import paint_boxes

if TYPE_CHECKING:
    from numpy.typing import NDArray


class BoxPainter:
    """Draws boxes; the setup is half the width of the table, in m."""

    def __init__(self, setup: float, *, width: int, height: int) -> None:
        self._reach_m, self._size = setup, (width, height)

    def paint(self, frame: bytes) -> NDArray[np.uint8]:
        """Return the picture of a list of boxes."""
        boxes: list[Any] = json.loads(frame)
        width, height = self._size
        rows = paint_boxes(boxes, reach_m=self._reach_m, width=width, height=height)
        flat = np.frombuffer(b"".join(rows), np.uint8)
        return flat.reshape(height, width, 3)
