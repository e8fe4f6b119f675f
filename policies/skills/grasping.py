"""Go to an object and take it, following it while it moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.policies.skills.grip import Held, check_closed_on_something
from interlock.policies.skills.moves import check_range
from interlock.policies.skills.poses import Target, nearest_turn, object_yaw, raised, tool_down
from interlock.policies.skills.skill import Skill, skill

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlock.policies.skills.body import Body

    Vector = NDArray[np.float64]

#: Tool points this far beside the object's axis go down no further, in m.
FUNNEL_M = 0.007
#: ... plus this much for every metre above its top.
FUNNEL_SLOPE = 0.25
#: The fingers close when the tool point is this close: beside the object and in height, in m.
CENTRED_M = 0.004
LEVEL_M = 0.003
#: Fingers this much farther off are no longer around it, in m.
AROUND_M = 0.02
CLEARANCE_M = 0.09
#: The tool goes this far below the top of a tall object, at most, in m.
REACH_DOWN_M = 0.04
#: Faster than usual when the fingers are on their way down beside an object that moved away.
AWAY = 1.4
#: Opening beyond the object's width, in m.
SPARE_M = 0.02


def grasp_yaw(body: Body, target: Target, pose: Vector) -> float:
    """Return how to turn the tool for an object, in rad, as near as possible to how it is."""
    period = body.thing(target).turn_period_rad
    if period <= 0:
        return body.yaw_rad
    return nearest_turn(object_yaw(pose), body.yaw_rad, period)


def grasp_point(body: Body, target: Target, pose: Vector, depth_m: float) -> Vector:
    """Return where the tool point goes to take an object, x, y, z in m."""
    if not isinstance(target, str):
        return pose[:3]
    half = body.thing(target).half_height_m
    return np.array([pose[0], pose[1], pose[2] + max(0.0, half - depth_m)])


def room_beside(tool: Vector, point: Vector, top_m: float) -> float:
    """Return how much farther from the object's axis the tool could be and still go down, in m.

    Above the object's top there is a funnel; below it the fingers have only their own clearance.
    """
    off = float(np.hypot(*(tool[:2] - point[:2])))
    return FUNNEL_M + FUNNEL_SLOPE * max(0.0, float(tool[2]) - top_m) - off


@skill("approach")
@dataclass
class Approach(Skill):
    """Go above an object or point, fingers open, and stay with it until there.

    Attributes:
        target: What to go to.
        height_m: Height of the tool above the grasp point, in m.
        touching: Object that the fingers may touch when the target is a point.
        speed: Share of the usual speed, 0.05 to 1.
    """

    target: Target
    height_m: float = CLEARANCE_M
    touching: str = ""
    speed: float = 1.0

    def check(self) -> None:
        """Refuse numbers out of range."""
        super().check()
        check_range("approach height_m", self.height_m, 0.0, 0.6)
        check_range("approach speed", self.speed, 0.05, 1.0)

    def touches(self) -> tuple[str, ...]:
        """Return what the fingers may touch."""
        return (*super().touches(), self.touching)

    async def run(self, body: Body) -> dict[str, Any]:
        """Go above it."""
        while True:
            body.mover.speed = self.speed
            pose = await body.find(self.target)
            point = grasp_point(body, self.target, pose, REACH_DOWN_M)
            goal = tool_down(raised(point, self.height_m), grasp_yaw(body, self.target, pose))
            body.task.phase = "approach"
            if await body.line(goal):
                return {"height_m": self.height_m}


@skill("grasp")
@dataclass
class Grasp(Skill):
    """Take an object between the fingers, wherever it goes meanwhile.

    Attributes:
        target: The object, or the point between the fingers when closed.
        touching: Object that the fingers may touch when the target is a point.
        force_n: Largest force on each pad, in N.
        depth_m: How far below its top an object is taken, in m.
        speed: Share of the usual speed, 0.05 to 1.
    """

    target: Target
    touching: str = ""
    force_n: float = 40.0
    depth_m: float = REACH_DOWN_M
    speed: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        #: Height above the grasp point at which the tool was last around the object, in m.
        self._low: float | None = None

    def check(self) -> None:
        """Refuse numbers out of range."""
        super().check()
        check_range("grasp force_n", self.force_n, 1.0, 70.0)
        check_range("grasp depth_m", self.depth_m, 0.005, 0.1)
        check_range("grasp speed", self.speed, 0.05, 1.0)

    def touches(self) -> tuple[str, ...]:
        """Return what the fingers may touch."""
        return (*super().touches(), self.touching)

    async def run(self, body: Body) -> dict[str, Any]:
        """Go above, go down while centred, close, and see that something is there."""
        state = body.runtime.state()
        width = min(body.runtime.arm.open_width_m, body.thing(self.target).width_m + SPARE_M)
        if state.gripper_width_m < width - 0.002:
            await body.grip(body.runtime.arm.open_width_m)
        while not await self._follow(body):
            pass
        body.runtime.near = self.target if isinstance(self.target, str) else self.touching
        body.task.phase = "close"
        state = await body.grip(0.0, force_n=self.force_n, along=lambda: self._follow(body))
        check_closed_on_something(state)
        await self._remember(body, await body.find(self.target))
        return {
            "width_m": round(state.gripper_width_m, 4),
            "force_n": round(state.gripper_force_n, 1),
        }

    async def _follow(self, body: Body) -> bool:
        """Go for one cycle toward where the object will be; True when it is between the fingers."""
        closing, named = body.task.phase == "close", isinstance(self.target, str)
        body.mover.speed = self.speed
        seen = await body.find(self.target)
        pose = body.ahead(self.target, seen)
        here = grasp_point(body, self.target, seen, self.depth_m)
        point = grasp_point(body, self.target, pose, self.depth_m)
        above = float(body.tool[2] - here[2])
        room_m = room_beside(body.tool, here, seen[2] + self._half_height(body))
        if closing or room_m >= 0 or not named:
            phase, height, self._low = "descend", 0.0, above
        elif self._low is not None and above < self.depth_m and room_m > -AROUND_M:
            # The fingers are around it: go along with it, neither up nor down.
            phase, height = "centre", self._low
        else:
            phase, height, self._low = "approach", CLEARANCE_M, None
        if not closing:
            body.task.phase = phase
        if phase == "approach" and above < CLEARANCE_M - SPARE_M:
            body.mover.speed = self.speed * AWAY  # it has moved away from under the fingers
        goal = tool_down(raised(point, height), grasp_yaw(body, self.target, pose))
        arrived = await body.line(goal)
        if not named:
            return arrived
        around = height == 0.0 and abs(above) <= LEVEL_M and room_m >= FUNNEL_M - CENTRED_M
        return around and (arrived or body.steady)

    def _half_height(self, body: Body) -> float:
        return body.thing(self.target).half_height_m if isinstance(self.target, str) else 0.0

    async def _remember(self, body: Body, pose: Vector) -> None:
        name = self.target if isinstance(self.target, str) else self.touching
        if name:
            pose = await body.find(name)
        offset = pose[:3] - body.tool[:3]
        below = body.thing(name).half_height_m - offset[2] if name else body.tool[2]
        body.runtime.held = Held(
            name=name,
            width_m=body.runtime.state().gripper_width_m,
            below_tool_m=float(below),
            offset_m=(float(offset[0]), float(offset[1]), float(offset[2])),
        )


@skill("lift")
@dataclass
class Lift(Skill):
    """Raise the tool straight up with what it holds.

    Attributes:
        height_m: By how much, in m.
        speed: Share of the usual speed, 0.05 to 1.
    """

    height_m: float = 0.15
    speed: float = 1.0

    def check(self) -> None:
        """Refuse numbers out of range."""
        check_range("lift height_m", self.height_m, 0.0, 0.6)
        check_range("lift speed", self.speed, 0.05, 1.0)

    async def run(self, body: Body) -> dict[str, Any]:
        """Raise it, and notice if it stays behind."""
        begin = body.tool
        while True:
            body.mover.speed = self.speed
            goal = tool_down(raised(begin, self.height_m), body.yaw_rad)
            arrived = await body.line(goal)
            body.check_still_held()
            if arrived:
                return {"raised_m": round(float(body.tool[2] - begin[2]), 4)}
