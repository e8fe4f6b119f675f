"""Put down what is held, or just let go of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.policies.errors import SkillError
from interlock.policies.skills.grasping import AROUND_M, REACH_DOWN_M
from interlock.policies.skills.moves import check_range
from interlock.policies.skills.poses import Target, raised, tool_down
from interlock.policies.skills.skill import Skill, skill

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlock.policies.skills.body import Body

    Vector = NDArray[np.float64]

#: A held object may be lowered this far beside its place, in m; then it only goes down.
PLACED_M = 0.006
#: It is let go this far above the surface, in m.
DROP_M = 0.003


@skill("place")
@dataclass
class Place(Skill):
    """Put what is held onto something, and let go.

    Attributes:
        on: Where: a place (``tray``), an object, or a point on a surface.
        offset_m: Beside its middle: x, y in m.
        travel_height_m: Height over the place at which it is carried there, in m.
        speed: Share of the usual speed, 0.05 to 1.
    """

    on: Target
    offset_m: tuple[float, float] = (0.0, 0.0)
    travel_height_m: float = 0.12
    speed: float = 1.0

    def check(self) -> None:
        """Refuse numbers out of range."""
        super().check()
        check_range("place travel_height_m", self.travel_height_m, 0.02, 0.6)
        check_range("place speed", self.speed, 0.05, 1.0)

    async def run(self, body: Body) -> dict[str, Any]:
        """Carry it over the place, lower it, open, and go up."""
        held = body.runtime.held
        if held is None:
            raise SkillError("place: nothing is held. Grasp something first.")
        down = False
        while True:
            body.mover.speed = self.speed
            top = raised(await self._surface(body), held.below_tool_m)
            x, y = self.offset_m[0] - held.offset_m[0], self.offset_m[1] - held.offset_m[1]
            point = top + np.array([x, y, 0.0])
            off = float(np.hypot(*(body.tool[:2] - point[:2])))
            down = off <= (AROUND_M if down else PLACED_M)
            body.task.phase = "lower" if down else "carry"
            height = DROP_M if down else self.travel_height_m
            arrived = await body.line(tool_down(raised(point, height), body.yaw_rad))
            body.check_still_held()
            if arrived and down:
                break
        await let_go(body)
        return {"placed": held.name}

    async def _surface(self, body: Body) -> Vector:
        pose = await body.find(self.on)
        is_place = not isinstance(self.on, str) or self.on in body.runtime.places
        top = 0.0 if is_place else body.thing(self.on).half_height_m
        return raised(pose, top)


@skill("release")
@dataclass
class Release(Skill):
    """Open the fingers where they are, and go up.

    Attributes:
        raise_m: How far to go up afterwards, in m.
    """

    raise_m: float = 0.1

    async def run(self, body: Body) -> dict[str, Any]:
        """Let go."""
        check_range("release raise_m", self.raise_m, 0.0, 0.6)
        await let_go(body, raise_m=self.raise_m)
        return {}


async def let_go(body: Body, *, raise_m: float = 0.1) -> None:
    """Open the fingers and go straight up."""
    body.task.phase = "release"
    await body.grip(body.runtime.arm.open_width_m)
    body.runtime.held = None
    goal = tool_down(raised(body.tool, raise_m), body.yaw_rad)
    while raise_m > 0 and not await body.line(goal):
        pass
    if raise_m >= REACH_DOWN_M:
        body.runtime.near = ""
