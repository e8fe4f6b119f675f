"""Which pairs of geoms may be near each other, from the axis-aligned boxes around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlock.robots.geometry import Vector

Pair = tuple[int, int]


class BroadPhase:
    """Bounds of all geoms of one model, in buffers that are used again.

    Args:
        half: Half sizes of the box around each geom in its own frame, shape (n, 3), in m.
        centers: Live view of the geoms' centres in the world, shape (n, 3), in m.
        rotations: Live view of the geoms' rotations, shape (n, 9).
    """

    def __init__(self, half: Vector, centers: Vector, rotations: Vector) -> None:
        self._half, self._n = half[:, :, None], len(half)
        self._centers = centers.T
        self._rotations = rotations.reshape(-1, 3, 3)
        self._turned, self._extent = np.zeros((self._n, 3, 3)), np.zeros((self._n, 3, 1))
        self.watch(())

    def watch(self, pairs: Sequence[Pair]) -> None:
        """Set the pairs that matter. Those that do not are taken to be infinitely far apart."""
        # Most pairs are of the robot, whose geoms come first: later rows are cut off.
        rows = max((first for first, _ in pairs), default=0) + 1
        self._ignored = np.full((rows, self._n), np.inf)
        for first, second in pairs:
            self._ignored[first, second] = 0.0
        self._apart, self._reach = np.zeros((3, rows, self._n)), np.zeros((3, rows, self._n))
        self._farthest = np.zeros((rows, self._n))
        self._rows = rows
        self._pairs = [divmod(index, self._n) for index in range(rows * self._n)]

    def near(self, within_m: float) -> list[Pair]:
        """Return the watched pairs whose boxes are at most ``within_m`` apart on every axis."""
        np.abs(self._rotations, out=self._turned)
        np.matmul(self._turned, self._half, out=self._extent)
        extent, rows, apart = self._extent[:, :, 0].T, self._rows, self._apart
        np.subtract(self._centers[:, :rows, None], self._centers[:, None, :], out=apart)
        np.abs(apart, out=apart)
        np.add(extent[:, :rows, None], extent[:, None, :], out=self._reach)
        np.subtract(apart, self._reach, out=apart)
        np.maximum.reduce(apart, axis=0, out=self._farthest)
        np.add(self._farthest, self._ignored, out=self._farthest)
        near = np.flatnonzero(self._farthest.ravel() <= within_m)
        return [self._pairs[index] for index in near.tolist()]
