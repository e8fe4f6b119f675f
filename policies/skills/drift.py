"""How an object moves, from where it was seen: steady motion only, a push is no trend."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

WINDOW_NS = 400_000_000
SPAN_NS = 200_000_000
#: Slower is standing still, faster is a push, in m/s.
SLOWEST_MPS = 0.008
FASTEST_MPS = 0.15
#: The two halves of the window must agree this well, in m/s.
STEADY_MPS = 0.015


class Drift:
    """The recent sightings of one object."""

    def __init__(self) -> None:
        self._seen: deque[tuple[int, Vector]] = deque(maxlen=100)

    def see(self, observed_ns: int, position: Vector) -> None:
        """Take a sighting; repeated ones are ignored."""
        if self._seen and observed_ns <= self._seen[-1][0]:
            return
        self._seen.append((observed_ns, position))
        while observed_ns - self._seen[0][0] > WINDOW_NS:
            self._seen.popleft()

    def velocity(self) -> Vector:
        """Return the velocity, shape (3,), in m/s; zero unless it moves steadily."""
        still = np.zeros(3)
        if len(self._seen) < 4 or self._seen[-1][0] - self._seen[0][0] < SPAN_NS:
            return still
        first, middle, last = self._seen[0], self._seen[len(self._seen) // 2], self._seen[-1]
        early, late, whole = _slope(first, middle), _slope(middle, last), _slope(first, last)
        speed = float(np.linalg.norm(whole))
        if not SLOWEST_MPS <= speed <= FASTEST_MPS:
            return still
        return whole if float(np.linalg.norm(late - early)) <= STEADY_MPS else still


def _slope(a: tuple[int, Vector], b: tuple[int, Vector]) -> Vector:
    slope: Vector = (b[1] - a[1]) / ((b[0] - a[0]) * 1e-9)
    return slope
