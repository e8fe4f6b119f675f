"""Statistics that LeRobot normalises with, per episode and joined over a dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

#: Kind of statistic -> value per number (or per channel, shape (3, 1, 1)).
Stats = dict[str, "NDArray[np.float64]"]

QUANTILES = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}
#: Every how manieth frame counts for image statistics, and how far its pixels are apart.
IMAGE_EVERY = 10
_IMAGE_SIDE = 112


def column_stats(values: NDArray[Any]) -> Stats:
    """Return the statistics of a column, shape (rows, width)."""
    numbers = np.asarray(values, np.float64).reshape(len(values), -1)
    found = {
        "min": numbers.min(axis=0),
        "max": numbers.max(axis=0),
        "mean": numbers.mean(axis=0),
        "std": numbers.std(axis=0),
        "count": np.array([len(numbers)], np.float64),
    }
    for name, share in QUANTILES.items():
        found[name] = np.quantile(numbers, share, axis=0)
    return found


class ImageStats:
    """Statistics of a camera, collected from some of its frames while they pass."""

    def __init__(self) -> None:
        self._seen = 0
        self._sampled = 0
        self._histogram = np.zeros((3, 256), np.int64)

    def add(self, image: NDArray[np.uint8]) -> None:
        """Count an RGB frame, shape (h, w, 3)."""
        self._seen += 1
        if (self._seen - 1) % IMAGE_EVERY:
            return
        self._sampled += 1
        step = max(1, min(image.shape[:2]) // _IMAGE_SIDE)
        small = image[::step, ::step]
        for channel in range(3):
            self._histogram[channel] += np.bincount(small[..., channel].ravel(), minlength=256)

    def result(self) -> Stats:
        """Return the statistics with values in 0 to 1, each of shape (3, 1, 1)."""
        levels = np.arange(256) / 255.0
        total = np.maximum(self._histogram.sum(axis=1, keepdims=True), 1)
        share = self._histogram / total
        mean = share @ levels
        std = np.sqrt(np.maximum(share @ levels**2 - mean**2, 0))
        present = self._histogram > 0
        found = {
            "min": levels[present.argmax(axis=1)],
            "max": levels[255 - present[:, ::-1].argmax(axis=1)],
            "mean": mean,
            "std": std,
        }
        below = share.cumsum(axis=1)
        for name, wanted in QUANTILES.items():
            found[name] = levels[np.minimum((below < wanted).sum(axis=1), 255)]
        shaped = {name: value.reshape(3, 1, 1) for name, value in found.items()}
        return {**shaped, "count": np.array([self._sampled], np.float64)}


def join_stats(parts: Sequence[Stats]) -> Stats:
    """Return the statistics of several episodes together.

    Quantiles are averaged by count, as LeRobot does; the rest is exact.
    """
    weights = np.array([part["count"][0] for part in parts])
    weights = weights / max(weights.sum(), 1)

    def weighted(name: str) -> NDArray[np.float64]:
        values = np.stack([part[name] for part in parts])
        summed: NDArray[np.float64] = np.tensordot(weights, values, axes=1)
        return summed

    mean = weighted("mean")
    spread = [part["std"] ** 2 + (part["mean"] - mean) ** 2 for part in parts]
    joined = {
        "min": np.stack([part["min"] for part in parts]).min(axis=0),
        "max": np.stack([part["max"] for part in parts]).max(axis=0),
        "mean": mean,
        "std": np.sqrt(np.tensordot(weights, np.stack(spread), axes=1)),
        "count": np.stack([part["count"] for part in parts]).sum(axis=0),
    }
    return {**joined, **{name: weighted(name) for name in QUANTILES}}


def plain(stats: Stats) -> dict[str, Any]:
    """Return statistics as JSON values."""
    shown: dict[str, Any] = {name: value.tolist() for name, value in stats.items()}
    shown["count"] = [int(stats["count"][0])]
    return shown
