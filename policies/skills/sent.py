"""The joint targets that a task has sent, over time: what the arm should be doing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

_KEEP = 50


class SentRows:
    """Rows with the times at which they are due; between them the motion is nearly straight."""

    def __init__(self) -> None:
        self._times: list[int] = []
        self._rows: list[Vector] = []

    def __bool__(self) -> bool:
        return bool(self._times)

    @property
    def begin_ns(self) -> int:
        """When the first row kept is due, in ns."""
        return self._times[0] if self._times else 0

    @property
    def until_ns(self) -> int:
        """When the last row is due, in ns; 0 without rows."""
        return self._times[-1] if self._times else 0

    @property
    def last(self) -> Vector:
        """The last row."""
        return self._rows[-1]

    def put(self, start_ns: int, period_ns: int, rows: Sequence[Vector]) -> None:
        """Replace everything after a time; the first row is due at that time."""
        self.cut(start_ns - 1)
        self._times += [start_ns + k * period_ns for k in range(len(rows))]
        self._rows += rows

    def cut(self, after_ns: int) -> None:
        """Forget the rows due after a time, and those long past."""
        keep = [k for k, t in enumerate(self._times) if t <= after_ns][-_KEEP:]
        self._times = [self._times[k] for k in keep]
        self._rows = [self._rows[k] for k in keep]

    def clear(self) -> None:
        """Forget everything."""
        self._times, self._rows = [], []

    def at(self, time_ns: int) -> Vector:
        """Return the joint positions at a time; the nearest row outside of all."""
        times, rows = self._times, self._rows
        if time_ns <= times[0]:
            return rows[0]
        if time_ns >= times[-1]:
            return rows[-1]
        k = int(np.searchsorted(times, time_ns))
        share = (time_ns - times[k - 1]) / (times[k] - times[k - 1])
        return rows[k - 1] + share * (rows[k] - rows[k - 1])
