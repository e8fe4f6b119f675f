"""What the Gate knows of the world: the robot's state, objects, what the gripper holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interlock.gate.checks.form import CLOCK_ERROR_NS
from interlock.gate.checks.path import Path
from interlock.gate.checks.separation import Separation
from interlock.gate.clearance import Clearance, levers
from interlock.gate.names import refuse_unknown_names
from interlock.gate.pose import compose, moved_m, usable
from interlock.gate.proposal import Sighting
from interlock.gate.robot import Obstacle
from interlock.messages.errors import InterlockError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from interlock.gate.config import Zone
    from interlock.gate.proposal import Check
    from interlock.gate.robot import JointLimits, RobotModel
    from interlock.messages.received import Received
    from interlock.messages.robot import ObjectPoses, RobotState

#: Where objects are kept until they are seen, in m below the robot.
_PARKED_M = -50.0
_OBJECT_RANGE_M = 0.15
_PEOPLE_RANGE_M = 1.0
#: Something in the closed gripper: at least this force, and this far from both ends of its range.
_HELD_FORCE_N = 1.0
_HELD_WIDTH_M = 0.002
_HELD_REACH_M = 0.05


class Surroundings:
    """The latest of everything the checks need besides the command.

    Attributes:
        robot: The robot's geometry, its obstacles where they were last seen.
        sightings: Where objects were last seen, by name.
        held: Object that the gripper holds; empty if none.
        clearance: Distances to everything that the current task must stay clear of.
        people: Distances to people.
        levers: How far any point moves per rad of each joint, in m/rad.
    """

    def __init__(
        self,
        robot: RobotModel,
        limits: JointLimits,
        checks: Sequence[Check],
        *,
        fixtures: Sequence[Obstacle],
        objects: Sequence[Obstacle],
        zones: Sequence[Zone],
    ) -> None:
        self.robot = robot
        self._fixtures = {o.name for o in fixtures}
        self._zones = {z.name: z for z in zones}
        self._objects = {o.name: o for o in objects}
        self._path = next((c for c in checks if isinstance(c, Path)), Path())
        people = [name for c in checks if isinstance(c, Separation) for name in c.people]
        self._people = frozenset(people)
        # A task may touch things: not fixtures, zones, people or the robot itself.
        self._touchable = self._objects.keys() - self._people
        refuse_unknown_names(
            robot, limits, fixtures, objects, zones=zones, path=self._path, people=self._people
        )
        self.state: RobotState | None = None
        self.state_observed_ns: int | None = None
        self.sightings: dict[str, Sighting] = {}
        self.held = ""
        self.touches: frozenset[str] = frozenset()
        self._now_ns = 0
        self._rest_error_m = 0.0
        robot.set_obstacles([*fixtures, *(z.obstacle for z in zones), *map(_parked, objects)])
        self.levers = levers(robot, limits)
        self.clearance = Clearance(
            robot, levers=self.levers, within_m=_OBJECT_RANGE_M, margin_of=self._margin
        )
        self.people = Clearance(
            robot, levers=self.levers, within_m=_PEOPLE_RANGE_M, margin_of=self._person_margin
        )

    def at(self, now_ns: int, touches: frozenset[str]) -> None:
        """Prepare to judge at a time, for a task that may touch some objects."""
        if touches != self.touches:
            self.touches = touches
            self.clearance.forget()
        elapsed_s = max(0, now_ns - self._now_ns) * 1e-9
        self._now_ns = max(now_ns, self._now_ns)
        if self.sightings:
            self.clearance.shrink(self._path.object_growth_mps * elapsed_s)

    def expect_rest_error(self, error_m: float) -> None:
        """Widen every margin by how far the arm has come to rest from where it was to."""
        self.clearance.shrink(error_m - self._rest_error_m)
        self._rest_error_m = error_m

    def on_state(self, received: Received[RobotState], touches: frozenset[str]) -> None:
        """Take the robot's state; ``touches`` are the objects that may be in the gripper."""
        newest_ns = self.state_observed_ns
        if newest_ns is not None and received.stamp.observed_ns < newest_ns:
            return
        self.state = received.message
        self.state_observed_ns = received.stamp.observed_ns
        self._update_held(received.message, touches)

    def on_objects(self, received: Received[ObjectPoses], now_ns: int) -> bool:
        """Take where objects are; return whether anything moved."""
        message, farthest = received.message, 0.0
        columns = (
            message.names,
            message.world_from_object,
            message.observed_ns.tolist(),
            message.confidence.tolist(),
        )
        for name, pose, observed_ns, confidence in zip(*columns, strict=False):
            known = self.sightings.get(name)
            if name not in self._objects or not usable(pose):
                continue
            # What was seen later than now was not seen.
            oldest_ns = observed_ns if known is None else known.observed_ns
            if not oldest_ns <= observed_ns <= now_ns + CLOCK_ERROR_NS:
                continue
            self.sightings[name] = Sighting(
                world_from_object=pose.copy(), observed_ns=observed_ns, confidence=confidence
            )
            if known is not None and np.array_equal(pose, known.world_from_object):
                continue
            farthest = max(farthest, self._move(name, pose, known))
        self._shrink(farthest)
        return farthest > 0

    def _move(self, name: str, pose: np.ndarray, known: Sighting | None) -> float:
        if name != self.held:
            self.robot.move_obstacle(name, pose)
        for zone in self._zones.values():
            if zone.follows == name:
                self.robot.move_obstacle(
                    zone.name, compose(pose, zone.obstacle.world_from_obstacle)
                )
                known = None
        if known is None:
            return float("inf")
        radius = float(np.linalg.norm(self._objects[name].size))
        return moved_m(known.world_from_object, pose, radius)

    def _shrink(self, by_m: float) -> None:
        for clearance in (self.clearance, self.people):
            if by_m == float("inf"):
                clearance.forget()
            else:
                clearance.shrink(by_m)

    def _margin(self, part: str, other: str) -> float | None:
        margin = self._asked_margin(part, other)
        return None if margin is None else margin + self._rest_error_m

    def _asked_margin(self, part: str, other: str) -> float | None:
        if other in self.touches and other in self._touchable:
            return None
        if other in self._path.margins_m:
            return self._path.margins_m[other]
        if other in self._fixtures:
            held = bool(self.held) and part == self.held
            return self._path.held_margin_m if held else self._path.fixture_margin_m
        if other in self._zones:
            return 0.0
        seen = self.sightings.get(other)
        if other not in self._objects or seen is None:
            return self._path.self_margin_m
        age_s = max(0, self._now_ns - seen.observed_ns) * 1e-9
        grown = self._path.object_margin_m + self._path.object_growth_mps * age_s
        return min(grown, max(self._path.object_margin_most_m, self._path.object_margin_m))

    def _person_margin(self, part: str, other: str) -> float | None:
        return 0.0 if other in self._people else None

    def _update_held(self, state: RobotState, touches: frozenset[str]) -> None:
        name = self._in_gripper(state, touches)
        if name == self.held:
            return
        self.robot.hold_at(state.position)
        try:
            self.robot.hold(name or None)
        except InterlockError:
            name = ""  # it is near the hand, but not between the fingers
            self.robot.hold(None)
        released = self.sightings.get(self.held)
        self.held = name
        if released is not None:
            self.clearance.forget()
        self._shrink(float("inf"))

    def _in_gripper(self, state: RobotState, touches: Iterable[str]) -> str:
        low, high = self.robot.gripper_width_range_m
        width, force = state.gripper_width_m, state.gripper_force_n
        closed = low + _HELD_WIDTH_M < width < high - _HELD_WIDTH_M
        if not (closed and force > _HELD_FORCE_N and state.gripper_target_m < width):
            return ""
        if self.held:
            return self.held
        tool = state.world_from_tool[:3]
        near = {
            name: float(np.linalg.norm(self.sightings[name].world_from_object[:3] - tool))
            for name in touches
            if name in self.sightings
        }
        name = min(near, key=near.__getitem__, default="")
        reach = _HELD_REACH_M + max(self._objects[name].size) if name else 0.0
        return name if name and near[name] <= reach else ""


def _parked(thing: Obstacle) -> Obstacle:
    pose = np.array([0.0, 0.0, _PARKED_M, 1.0, 0.0, 0.0, 0.0])
    return Obstacle(name=thing.name, shape=thing.shape, size=thing.size, world_from_obstacle=pose)
