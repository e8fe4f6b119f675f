"""How clear the robot is along a motion, measured at few places and proven for the rest.

A distance measured at one position also bounds the distance nearby: no point of the robot moves
farther than the sum over joints of lever times angle. Each measurement therefore frees a whole
neighbourhood, and the next measurement is made only where a motion leaves it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from interlock.gate.free_space import Free, Nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from interlock.gate.robot import JointLimits, Proximity, RobotModel
    from interlock.messages.columns import Matrix, Vector

#: Random positions at which levers are measured, and what is added to be on the safe side.
_LEVER_POSITIONS = 200
_LEVER_SLACK = 1.05
#: Between two samples at most this many bisections are measured.
_BISECTIONS = 5
#: How much nearer than allowed is still taken for as near, in m.
_ROUNDING_M = 5e-4
#: What a motion may come nearer than where it begins: the noise of one distance measured twice.
_STANDING_M = 1e-7


class Crossing(NamedTuple):
    """Where a motion comes too near: which sample, and the pair."""

    sample: int
    nearest: Nearest


def levers(robot: RobotModel, limits: JointLimits) -> Vector:
    """Return how far any point moves per rad of each joint at most, shape (n_joints,), in m/rad."""
    rng = np.random.default_rng(7)
    n = len(limits.velocity)
    found = np.zeros(n)
    for _ in range(_LEVER_POSITIONS):
        position = rng.uniform(limits.position_low, limits.position_high)
        for joint in range(n):
            unit = np.zeros(n)
            unit[joint] = 1.0
            found[joint] = max(found[joint], robot.fastest_point_speed(position, unit))
    return found * _LEVER_SLACK


class Clearance:
    """Distances of one robot to what a check cares about.

    Args:
        robot: The robot's geometry.
        levers: As from ``levers``.
        within_m: Distances beyond this are not told apart.
        margin_of: Margin for a pair (part, other), in m; None when the pair does not matter.

    Attributes:
        least: The least clearance proven by the latest ``crossing`` that found none.
        measured: How often distances were measured.
    """

    def __init__(
        self,
        robot: RobotModel,
        *,
        levers: Vector,
        within_m: float,
        margin_of: Callable[[str, str], float | None],
    ) -> None:
        self._robot = robot
        self._levers = levers
        self._within_m = within_m
        self._margin_of = margin_of
        self._free = Free(levers)
        self._floors: dict[tuple[str, str], float] = {}
        self.measured = 0
        self.least: Nearest | None = None

    def forget(self) -> None:
        """Forget what is known to be free: something other than the robot has changed."""
        self._free.clear()

    def shrink(self, by_m: float) -> None:
        """Let every known distance be less by this: something moved, or margins grew."""
        if by_m > 0:
            self._free.shrink(by_m)

    def measure(self, position: Vector) -> Nearest:
        """Return the pair with the least clearance at a position."""
        return self._nearest(position, {})

    def at_least(self, position: Vector, needed_m: float) -> float:
        """Return a distance that is kept at a position: proven if enough, else measured, in m."""
        room = self._free.room(position)
        if room >= needed_m:
            return room
        nearest = self._nearest(position, {})
        self._free.add(position, nearest)
        return nearest.slack_m

    def start_allowance(self, position: Vector) -> Mapping[tuple[str, str], float]:
        """Return the pairs that are already too near at a position, with the distance to keep.

        A motion that brings none of them nearer is a retreat. The distance to keep never shrinks
        by the robot's own motion, so that many small commands can't creep nearer either.
        """
        if self._free.room(position) > 0:
            self._floors = {}
            return {}
        near = {
            (p.part, p.other): p.distance_m for p, m in self._pairs(position) if p.distance_m <= m
        }
        self._floors = {pair: self._floor(pair, d) for pair, d in near.items()}
        # Where it is now is no motion nearer, even if it was a little farther away before.
        return {
            pair: min(self._floors[pair], d + _ROUNDING_M - _STANDING_M) for pair, d in near.items()
        }

    def _floor(self, pair: tuple[str, str], distance_m: float) -> float:
        known = self._floors.get(pair, distance_m)
        came_nearer = distance_m < known - 2 * _ROUNDING_M
        return distance_m if came_nearer else max(known, distance_m)

    def crossing(
        self, positions: Matrix, allowance: Mapping[tuple[str, str], float]
    ) -> Crossing | None:
        """Return the first sample of a motion that comes too near to something, or None.

        Args:
            positions: Shape (n_samples, n_joints), in rad; straight between samples.
            allowance: As from ``start_allowance``.
        """
        # What is free only thanks to an allowance is no knowledge for other motions.
        free = Free(self._levers) if allowance else self._free
        self.least = None
        index = 0
        while index < len(positions):
            count, room, nearest = free.reach(positions[index:])
            if not count:
                nearest = self._nearest(positions[index], allowance)
                if not nearest.slack_m > 0:
                    return Crossing(index, nearest)
                free.add(positions[index], nearest)
                count, room = 1, nearest.slack_m
                if index and not self._bridged(positions[index - 1 : index + 1], free, allowance):
                    return Crossing(index, nearest)
                count = max(1, free.reach(positions[index:])[0])
            if nearest is not None and (self.least is None or room < self.least.slack_m):
                self.least = nearest._replace(slack_m=room)
            index += count
        return None

    def _bridged(
        self,
        ends: Matrix,
        free: Free,
        allowance: Mapping[tuple[str, str], float],
        depth: int = 0,
    ) -> bool:
        """Return whether the straight way between two clear positions is clear."""
        first, second = ends
        room = free.room(first) + free.room(second)
        if float(np.abs(second - first) @ self._levers) <= room or depth == _BISECTIONS:
            return True
        middle = (first + second) / 2
        if free.room(middle) <= 0:
            nearest = self._nearest(middle, allowance)
            if not nearest.slack_m > 0:
                return False
            free.add(middle, nearest)
        return self._bridged(
            np.stack([first, middle]), free, allowance, depth + 1
        ) and self._bridged(np.stack([middle, second]), free, allowance, depth + 1)

    def _pairs(self, position: Vector) -> list[tuple[Proximity, float]]:
        self.measured += 1
        found = []
        for pair in self._robot.proximities(position, self._within_m):
            margin = self._margin_of(pair.part, pair.other)
            if margin is not None:
                found.append((pair, margin))
        return found

    def _nearest(self, position: Vector, allowance: Mapping[tuple[str, str], float]) -> Nearest:
        worst = Nearest(self._within_m, self._within_m, 0.0, "", "")
        for pair, margin in self._pairs(position):
            floor = allowance.get((pair.part, pair.other))
            keep = margin if floor is None else min(margin, floor - _ROUNDING_M)
            slack = pair.distance_m - keep
            if not slack >= worst.slack_m:
                worst = Nearest(slack, pair.distance_m, keep, pair.part, pair.other)
        return worst
