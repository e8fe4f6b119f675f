"""A picture without any symmetry, so that a wrong turn or flip is seen at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def letter_card(*, height: int = 480, width: int = 640) -> NDArray[np.uint8]:
    """Return a white letter F on black with one red corner, at the top left when upright.

    Returns:
        RGB, shape (height, width, 3).
    """
    picture = np.zeros((height, width, 3), np.uint8)
    h, w = height // 8, width // 8
    picture[h : 7 * h, 2 * w : 3 * w] = 255
    picture[h : 2 * h, 2 * w : 6 * w] = 255
    picture[3 * h : 4 * h, 2 * w : 5 * w] = 255
    picture[:h, :w] = (255, 0, 0)
    return picture
