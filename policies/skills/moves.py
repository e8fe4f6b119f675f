"""Free motions: to a pose or joint positions, to the home position, and waiting."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from interlock.messages import SettingsError
from interlock.policies.skills.poses import Target, tool_down
from interlock.policies.skills.skill import Skill, skill

if TYPE_CHECKING:
    from interlock.policies.skills.body import Body
    from interlock.policies.task import Task


def check_range(name: str, value: float, low: float, high: float) -> None:
    """Refuse a number outside a range; NaN is outside every range."""
    if not low <= value <= high:
        raise SettingsError(f"{name} {value:g} is outside {low:g} to {high:g}")


@skill("move_to")
@dataclass
class MoveTo(Skill):
    """Move the tool to a point or pose, or the joints to positions.

    Attributes:
        target: A point (tool pointing down, turned as it is), a pose, or an object's name: then
            the tool goes ``height_m`` above it.
        joints_rad: Joint positions instead of a target, in rad.
        height_m: Height above a named object, in m.
        speed: Share of the usual speed, 0.05 to 1.
    """

    resources: ClassVar[tuple[str, ...]] = ("arm",)

    target: Target | None = None
    joints_rad: tuple[float, ...] = ()
    height_m: float = 0.15
    speed: float = 1.0

    def check(self) -> None:
        """Refuse both or neither of target and joints, and a speed out of range."""
        super().check()
        check_range(f"{self.name} speed", self.speed, 0.05, 1.0)
        if (self.target is None) == (not self.joints_rad):
            raise SettingsError("move_to needs either target or joints_rad")

    async def run(self, body: Body) -> dict[str, Any]:
        """Go there."""
        while not await self._step(body):
            body.check_still_held()
        return {"world_from_tool": [round(float(x), 5) for x in body.tool]}

    async def _step(self, body: Body) -> bool:
        body.mover.speed = self.speed
        if self.target is None:
            return await body.joints(np.array(self.joints_rad))
        pose = await body.find(self.target)
        if isinstance(self.target, str):
            pose = tool_down((pose[0], pose[1], pose[2] + self.height_m), body.yaw_rad)
        elif len(self.target) == 3:
            pose = tool_down(pose, body.yaw_rad)
        elif abs(pose[3]) > 1e-3 or abs(pose[6]) > 1e-3:
            return await body.pose(pose)
        return await body.line(pose)


@skill("home")
@dataclass
class Home(Skill):
    """Move the arm to its home position.

    Attributes:
        speed: Share of the usual speed, 0.05 to 1.
    """

    resources: ClassVar[tuple[str, ...]] = ("arm",)

    speed: float = 1.0

    async def run(self, body: Body) -> dict[str, Any]:
        """Go home."""
        body.mover.speed = self.speed
        while not await body.joints(body.runtime.arm.home):
            body.check_still_held()
        return {}


@skill("wait")
@dataclass
class Wait(Skill):
    """Let time pass without holding the robot.

    Attributes:
        seconds_s: How long, in s.
    """

    resources: ClassVar[tuple[str, ...]] = ()

    seconds_s: float = 1.0

    def check(self) -> None:
        """Refuse negative times and more than an hour."""
        if not (math.isfinite(self.seconds_s) and 0 <= self.seconds_s <= 3600):
            raise SettingsError(f"wait seconds_s {self.seconds_s:g} is outside 0 to 3600")

    async def run_as(self, task: Task[Any]) -> dict[str, Any]:
        """Wait; needs no token."""
        await asyncio.sleep(self.seconds_s)
        return {}
