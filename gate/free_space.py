"""Positions that are known to be clear, because one near them was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from interlock.messages.columns import Matrix, Vector

_REMEMBERED = 24
#: Neighbourhoods that shrink below this are forgotten, in m.
_WORTH_M = 0.003


class Nearest(NamedTuple):
    """The pair with the least clearance beyond its margin.

    Attributes:
        slack_m: Distance minus margin, in m; negative when too near.
        distance_m: Distance, in m.
        margin_m: Margin that holds for the pair, in m.
        part: Part of the robot, or what it holds.
        other: What it is near to.
    """

    slack_m: float
    distance_m: float
    margin_m: float
    part: str
    other: str


class Free:
    """Positions that are clear because one near them was measured."""

    def __init__(self, levers: Vector) -> None:
        self._levers = levers
        self._centers = np.zeros((_REMEMBERED, len(levers)))
        self._slacks = np.zeros(_REMEMBERED)
        self._nearest: list[Nearest | None] = [None] * _REMEMBERED
        self._next = 0

    def clear(self) -> None:
        """Forget all of it."""
        self._slacks[:] = 0.0

    def shrink(self, by_m: float) -> None:
        """Let every known distance be less by this."""
        self._slacks -= by_m
        self._slacks[self._slacks < _WORTH_M] = 0.0

    def add(self, position: Vector, nearest: Nearest) -> None:
        """Note a measured position and its slack."""
        index = self._next % _REMEMBERED
        self._centers[index] = position
        self._slacks[index] = nearest.slack_m
        self._nearest[index] = nearest
        self._next += 1

    def room(self, position: Vector) -> float:
        """Return how much clearance is proven at a position, in m; 0 or less for none."""
        cost = np.abs(self._centers - position) @ self._levers
        return float((self._slacks - cost).max())

    def reach(self, positions: Matrix) -> tuple[int, float, Nearest | None]:
        """Return how many samples from the first on stay in one neighbourhood.

        Returns:
            The count, the least room among them, in m, and the pair it was measured for.
        """
        # Most often the newest neighbourhood holds the whole motion.
        newest = (self._next - 1) % _REMEMBERED
        least = float(
            (self._slacks[newest] - np.abs(positions - self._centers[newest]) @ self._levers).min()
        )
        if least > 0:
            return len(positions), least, self._nearest[newest]
        cost = np.abs(self._centers[:, None] - positions) @ self._levers
        room = self._slacks[:, None] - cost
        inside = np.logical_and.accumulate(room > 0, axis=1).sum(axis=1)
        best = int(inside.argmax())
        count = int(inside[best])
        if not count:
            return 0, 0.0, None
        return count, float(room[best, :count].min()), self._nearest[best]
