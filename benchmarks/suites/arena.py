"""What both arms of an experiment share: the measured run, and rows that programs send."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from interlock.robots import kinematics, panda

Vector = NDArray[np.float64]

CYCLE_NS = 20_000_000
CYCLES_PER_S = 50
REST_MPS = 0.005


@dataclass(slots=True)
class Record:
    """What was measured, one entry per control cycle.

    Attributes:
        tool: Tool position, in m.
        speed: Tool speed, in m/s.
        set_point: Set-point of the servo, in rad.
    """

    tool: list[Vector] = field(default_factory=list)
    speed: list[float] = field(default_factory=list)
    set_point: list[Vector] = field(default_factory=list)

    @property
    def path(self) -> Vector:
        """Tool positions, shape (n, 3), in m."""
        return np.array(self.tool)

    def travel_m(self, since: int) -> float:
        """Return how far the tool got from where it was at a cycle, in m."""
        path = self.path[since:]
        return float(np.linalg.norm(path - path[0], axis=1).max())

    def rest_s(self, since: int) -> float:
        """Return how long after a cycle the tool moved last, in s."""
        moving = [i for i, speed in enumerate(self.speed[since:]) if speed > REST_MPS]
        return (moving[-1] + 1) / CYCLES_PER_S if moving else 0.0


def reach(place: Vector, seed: Vector | None = None) -> Vector:
    """Return joint positions with the gripper pointing down at x, y, z, in m.

    Raises:
        ValueError: If the arm can't reach it.
    """
    target = np.array([*place, 0.0, 1.0, 0.0, 0.0])
    found = kinematics.inverse(target, panda.HOME if seed is None else seed)
    if found is None:
        raise ValueError(f"no way to reach {place}")
    return found


def smooth(first: Vector, last: Vector, seconds: float) -> Vector:
    """Return rows that begin and end slowly, shape (n, 7): straight in the joints."""
    return np.asarray(first + _shares(seconds)[:, None] * (last - first))


def straight(first: Vector, last: Vector, seconds: float, seed: Vector | None = None) -> Vector:
    """Return rows along a straight line of the tool, gripper down, shape (n, 7)."""
    rows = []
    for share in _shares(seconds):
        seed = reach(first + share * (last - first), seed)
        rows.append(seed)
    return np.array(rows)


def _shares(seconds: float) -> Vector:
    n = max(2, round(seconds * CYCLES_PER_S))
    s = np.arange(1, n + 1) / n
    return np.asarray(s**3 * (10 - 15 * s + 6 * s * s))
