"""Motions that an agent's verbs need besides the named skills: jogging, and the fingers alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from interlock.policies.program import start
from interlock.policies.skills import Grasp, Lift, Place, Skill
from interlock.policies.skills.poses import tool_down

if TYPE_CHECKING:
    from interlock.policies.skills.body import Body

SAME_M = 5e-4


@dataclass
class Fingers(Skill):
    """Move the fingers and wait until they stand still or press.

    Attributes:
        width_m: Distance between them to go to, in m.
    """

    name: ClassVar[str] = "fingers"
    resources: ClassVar[tuple[str, ...]] = ("gripper",)

    width_m: float = 0.08

    async def run(self, body: Body) -> dict[str, Any]:
        """Move them."""
        state = await body.grip(self.width_m)
        return {"width_m": round(state.gripper_width_m, 4)}


@dataclass
class Jog(Skill):
    """Follow a point that small steps push along, until told to stop.

    Attributes:
        goal_m: Where the tool goes, in m in the world.
        width_m: Distance between the fingers, in m.
        stopped: Set to end it at the goal.
        idle: True once the fingers are where they were asked to be.
    """

    name: ClassVar[str] = "jog"

    goal_m: list[float] = field(default_factory=list)
    width_m: float = 0.08
    told_m: float = 0.08
    stopped: bool = False

    async def run(self, body: Body) -> dict[str, Any]:
        """Follow the goal."""
        while True:
            arrived = await body.line(tool_down(np.array(self.goal_m), body.yaw_rad))
            if abs(self.width_m - self.told_m) > SAME_M:
                await body.grip(self.width_m)
                self.told_m = self.width_m
            if self.stopped and arrived:
                return {}


async def pick(target: str) -> dict[str, Any]:
    """Take an object and lift it."""
    result: dict[str, Any] = await start(Grasp(target))
    await start(Lift(0.12))
    return result


async def place(on: str | tuple[float, float, float]) -> dict[str, Any]:
    """Put what is held onto an object, a zone or a point, and let go."""
    result: dict[str, Any] = await start(Place(on))
    return result
