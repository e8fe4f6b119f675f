"""Blend the chunks of several inferences into one action per step."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Ensembler:
    """Keeps the newest chunks and averages what each of them says about now.

    The chunk made i steps ago gives its row i. Rows that point the way of the newest one weigh
    more: ``exp(alpha * cosine similarity)``, normalised.

    Args:
        horizon: Chunks kept.
        alpha: How much agreement counts; 0 is a plain mean.
        switches: Numbers of the action that are on or off (a binary gripper): they are taken from
            the newest chunk, since the mean of open and closed is neither.
    """

    def __init__(
        self, horizon: int = 7, alpha: float = 0.1, *, switches: tuple[int, ...] = ()
    ) -> None:
        self._chunks: deque[NDArray[np.float32]] = deque(maxlen=horizon)
        self._alpha = alpha
        self._switches = list(switches)

    def reset(self) -> None:
        """Forget every chunk."""
        self._chunks.clear()

    def add(self, chunk: NDArray[np.float32]) -> NDArray[np.float32]:
        """Take the newest chunk, shape (T, A), and return the action for now, shape (A,)."""
        self._chunks.appendleft(chunk)
        rows = np.stack([c[age] for age, c in enumerate(self._chunks) if age < len(c)])
        newest = rows[0]
        norms = np.linalg.norm(rows, axis=1) * np.linalg.norm(newest)
        similarity = (rows @ newest) / np.maximum(norms, 1e-9)
        weights = np.exp(self._alpha * similarity)
        action: NDArray[np.float32] = (weights / weights.sum()) @ rows
        action[self._switches] = newest[self._switches]
        return action.astype(np.float32)
