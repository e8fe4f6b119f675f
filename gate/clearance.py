"""How clear the robot is along a motion, measured at few places and proven for the rest.

A distance measured at one position also bounds the distance nearby: no point of the robot moves
farther than the sum over joints of lever times angle. Each measurement therefore frees a whole
neighbourhood, and the next measurement is made only where a motion leaves it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from interlock.gate.robot import JointLimits, Proximity, RobotModel
    from interlock.messages.columns import Matrix, Vector

#: Random positions at which levers are measured, and what is added to be on the safe side.
_LEVER_POSITIONS = 200
_LEVER_SLACK = 1.05
#: Between two samples at most this many bisections are measured.
_BISECTIONS = 5
_REMEMBERED = 32
#: How much nearer than allowed is still taken for as near, in m.
_ROUNDING_M = 5e-4


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


@dataclass(frozen=True, slots=True)
class Ball:
    """Positions that are clear because one was measured."""

    center: Vector
    slack_m: float
    nearest: Nearest


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
        self._balls: list[Ball] = []
        self._floors: dict[tuple[str, str], float] = {}
        self.measured = 0

    def forget(self) -> None:
        """Forget what is known to be free: something other than the robot has changed."""
        self._balls.clear()

    def shrink(self, by_m: float) -> None:
        """Let every known distance be less by this: something moved, or margins grew."""
        if by_m > 0:
            kept = [Ball(b.center, b.slack_m - by_m, b.nearest) for b in self._balls]
            self._balls = [b for b in kept if b.slack_m > 0.005]

    def measure(self, position: Vector) -> Nearest:
        """Return the pair with the least clearance at a position."""
        return self._nearest(position, {})

    def at_least(self, position: Vector, needed_m: float) -> float:
        """Return a distance that is kept at a position: proven if enough, else measured, in m."""
        room = self._room(position, self._balls)
        if room >= needed_m:
            return room
        nearest = self._nearest(position, {})
        self._remember(position, nearest, self._balls)
        return nearest.slack_m

    def start_allowance(self, position: Vector) -> Mapping[tuple[str, str], float]:
        """Return the pairs that are already too near at a position, with the distance to keep.

        A motion that brings none of them nearer is a retreat. The distance to keep never shrinks
        by the robot's own motion, so that many small commands can't creep nearer either.
        """
        if self._covered(position):
            self._floors = {}
            return {}
        near = {
            (p.part, p.other): p.distance_m for p, m in self._pairs(position) if p.distance_m <= m
        }
        self._floors = {pair: self._floor(pair, d) for pair, d in near.items()}
        return self._floors

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
        balls = [] if allowance else self._balls
        index, inside = 0, None
        while index < len(positions):
            inside, last = self._best(positions, index, balls)
            if inside is None:
                nearest = self._nearest(positions[index], allowance)
                if not nearest.slack_m > 0:
                    return Crossing(index, nearest)
                inside = self._remember(positions[index], nearest, balls)
                if index and not self._bridged(
                    positions[index - 1], positions[index], balls, allowance
                ):
                    return Crossing(index, nearest)
                last = self._reach(positions, index, inside)
            index = last + 1
        return None

    def least(self, positions: Matrix) -> Nearest | None:
        """Return the least clearance that is proven along positions already judged; None if none.

        It is a lower bound: the slack of the smallest neighbourhood used, less the way in it.
        """
        worst: Nearest | None = None
        for ball in self._balls:
            cost = np.abs(positions - ball.center) @ self._levers
            if (cost < ball.slack_m).any() and (worst is None or ball.slack_m < worst.slack_m):
                worst = ball.nearest
        return worst

    def _best(self, positions: Matrix, index: int, balls: list[Ball]) -> tuple[Ball | None, int]:
        best, last = None, index
        for ball in reversed(balls):
            cost = float(np.abs(positions[index] - ball.center) @ self._levers)
            if cost < ball.slack_m:
                reach = self._reach(positions, index, ball)
                if best is None or reach > last:
                    best, last = ball, reach
                if last == len(positions) - 1:
                    break
        return best, last

    def _reach(self, positions: Matrix, index: int, ball: Ball) -> int:
        """Return the last sample up to which a motion stays inside a ball."""
        cost = np.abs(positions[index:] - ball.center) @ self._levers
        outside = np.flatnonzero(~(cost < ball.slack_m))
        return len(positions) - 1 if not outside.size else index + max(int(outside[0]) - 1, 0)

    def _bridged(
        self,
        first: Vector,
        second: Vector,
        balls: list[Ball],
        allowance: Mapping[tuple[str, str], float],
        depth: int = 0,
    ) -> bool:
        """Return whether the straight way between two clear positions is clear."""
        room = self._room(first, balls) + self._room(second, balls)
        if float(np.abs(second - first) @ self._levers) <= room or depth == _BISECTIONS:
            return True
        middle = (first + second) / 2
        if self._room(middle, balls) <= 0:
            nearest = self._nearest(middle, allowance)
            if not nearest.slack_m > 0:
                return False
            self._remember(middle, nearest, balls)
        return self._bridged(first, middle, balls, allowance, depth + 1) and self._bridged(
            middle, second, balls, allowance, depth + 1
        )

    def _room(self, position: Vector, balls: list[Ball]) -> float:
        rooms = (b.slack_m - float(np.abs(position - b.center) @ self._levers) for b in balls)
        return max(rooms, default=0.0)

    def _covered(self, position: Vector) -> bool:
        return self._room(position, self._balls) > 0

    def _remember(self, position: Vector, nearest: Nearest, balls: list[Ball]) -> Ball:
        ball = Ball(position.copy(), nearest.slack_m, nearest)
        balls.append(ball)
        if len(balls) > _REMEMBERED:
            balls.pop(0)
        return ball

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
