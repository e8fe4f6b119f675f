"""Skills that meet something on purpose: push, tap, follow, hand over."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.messages import SettingsError
from interlock.policies.errors import SkillError, TimeoutSkillError
from interlock.policies.skills.moves import check_range
from interlock.policies.skills.placing import let_go
from interlock.policies.skills.poses import Target, raised, tool_down
from interlock.policies.skills.skill import Skill, skill

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlock.policies.skills.body import Body

    Vector = NDArray[np.float64]

#: The closed fingers stay this far from the object before they push it, in m.
STAND_OFF_M = 0.05
#: Half the depth of the closed fingers along the push, in m.
FINGER_M = 0.012
#: Height of the tool point above the table while it pushes, at least, in m.
LOW_M = 0.03


@dataclass
class _Numbers(Skill):
    """Checks ``speed`` of the skills here."""

    def check(self) -> None:
        """Refuse numbers out of range."""
        super().check()
        check_range(f"{self.name} speed", getattr(self, "speed", 1.0), 0.05, 1.0)


@skill("push")
@dataclass
class Push(_Numbers):
    """Push an object along the table with closed fingers.

    Attributes:
        target: The object.
        by_m: How far and where to: x, y in m.
        speed: Share of the usual speed while pushing, 0.05 to 1.
    """

    target: Target
    by_m: tuple[float, float] = (0.05, 0.0)
    speed: float = 0.3

    def check(self) -> None:
        """Refuse a push of no length or of more than half a metre."""
        super().check()
        check_range("push by_m (length)", math.hypot(*self.by_m), 0.005, 0.5)

    async def run(self, body: Body) -> dict[str, Any]:
        """Go behind it, down, push, and go up."""
        await body.grip(0.0)
        way = np.array([*self.by_m, 0.0])
        along = way / np.linalg.norm(way)
        yaw = _turned_across(body, along)
        begin = await self._go_behind(body, along, yaw)
        end = raised(begin + way, 0.0)
        body.task.phase, body.mover.speed = "push", self.speed
        contact = end - along * (self._reach(body) + FINGER_M)
        contact[2] = max(LOW_M, begin[2])
        while not await body.line(tool_down(contact, yaw)):
            pass
        body.mover.speed, body.task.phase = 1.0, "retreat"
        back = contact - along * 0.02
        while not await body.line(tool_down(raised(back, 0.15), yaw)):
            pass
        pose = await body.find(self.target)
        moved = float((pose[:3] - begin) @ along)
        return {"moved_m": round(moved, 4)}

    async def _go_behind(self, body: Body, along: Vector, yaw: float) -> Vector:
        """Stand beside the object, low, on the far side of the push; return where it is."""
        for height, phase in ((0.15, "approach"), (0.0, "descend")):
            body.task.phase = phase
            while True:
                pose = await body.find(self.target)
                point = pose[:3] - along * (self._reach(body) + STAND_OFF_M)
                point[2] = max(LOW_M, pose[2]) + height
                if await body.line(tool_down(point, yaw)):
                    break
        return pose[:3].copy()

    def _reach(self, body: Body) -> float:
        return body.thing(self.target).width_m / 2


@skill("tap")
@dataclass
class Tap(_Numbers):
    """Touch the top of an object or a point with closed fingers, and go up again.

    Attributes:
        target: What to touch.
        press_m: How far below the surface to aim, in m.
        speed: Share of the usual speed on the way down, 0.05 to 1.
    """

    target: Target
    press_m: float = 0.001
    speed: float = 0.2

    def check(self) -> None:
        """Refuse to press deep."""
        super().check()
        check_range("tap press_m", self.press_m, 0.0, 0.01)

    async def run(self, body: Body) -> dict[str, Any]:
        """Close the fingers, touch, go up."""
        await body.grip(0.0)
        body.task.phase = "approach"
        while not await body.line(tool_down(raised(await self._top(body), 0.05), body.yaw_rad)):
            pass
        body.mover.speed, body.task.phase = self.speed, "touch"
        # From here on where it was: an object that tips over is not chased into the table.
        top = await self._top(body)
        while not await body.line(tool_down(raised(top, -self.press_m), body.yaw_rad)):
            pass
        touched = body.tool
        body.mover.speed, body.task.phase = 1.0, "retreat"
        while not await body.line(tool_down(raised(touched, 0.1), body.yaw_rad)):
            pass
        return {"height_m": round(float(touched[2]), 4)}

    async def _top(self, body: Body) -> Vector:
        pose = await body.find(self.target)
        known = isinstance(self.target, str) and self.target not in body.runtime.places
        return raised(pose, body.thing(self.target).half_height_m if known else 0.0)


@skill("follow")
@dataclass
class Follow(_Numbers):
    """Stay above an object while it moves.

    Attributes:
        target: What to stay above.
        height_m: Height of the tool above it, in m.
        duration_s: How long, in s; 0 until cancelled.
        speed: Share of the usual speed, 0.05 to 1.
    """

    target: Target
    height_m: float = 0.15
    duration_s: float = 0.0
    speed: float = 1.0

    def check(self) -> None:
        """Refuse numbers out of range."""
        super().check()
        check_range("follow height_m", self.height_m, 0.05, 0.6)
        check_range("follow duration_s", self.duration_s, 0.0, 3600.0)

    async def run(self, body: Body) -> dict[str, Any]:
        """Follow it."""
        begin_ns = body.now_ns
        while not 0 < self.duration_s <= (body.now_ns - begin_ns) / 1e9:
            body.mover.speed, body.task.phase = self.speed, "follow"
            pose = await body.find(self.target)
            await body.line(tool_down(raised(pose, self.height_m), body.yaw_rad))
        return {"followed_s": round((body.now_ns - begin_ns) / 1e9, 2)}


@skill("hand_over")
@dataclass
class HandOver(_Numbers):
    """Carry what is held to a person and let go when they pull.

    Attributes:
        target: Where to: a point, or something near the person.
        pull_m: The fingers let go when the object is drawn this far, in m.
        patience_s: How long to wait for the pull, in s.
        speed: Share of the usual speed, 0.05 to 1.
    """

    target: Target
    pull_m: float = 0.004
    patience_s: float = 20.0
    speed: float = 0.5

    def check(self) -> None:
        """Refuse numbers out of range."""
        super().check()
        check_range("hand_over pull_m", self.pull_m, 0.001, 0.05)
        check_range("hand_over patience_s", self.patience_s, 0.1, 600.0)

    async def run(self, body: Body) -> dict[str, Any]:
        """Go there, wait for the pull, open."""
        held = body.runtime.held
        if held is None:
            raise SkillError("hand_over: nothing is held. Grasp something first.")
        if not held.name:
            raise SettingsError("hand_over needs a held object with a name: a pull is seen by it")
        body.mover.speed, body.task.phase = self.speed, "carry"
        while not await body.line(tool_down(await body.find(self.target), body.yaw_rad)):
            body.check_still_held()
        body.task.phase = "offer"
        await self._pulled(body, held.name)
        await let_go(body, raise_m=0.0)
        return {"handed_over": held.name}

    async def _pulled(self, body: Body, name: str) -> None:
        rest = (await body.find(name))[:3] - body.tool[:3]
        give_up_ns = body.now_ns + int(self.patience_s * 1e9)
        while body.now_ns < give_up_ns:
            await body.cycle()
            drawn = (await body.find(name))[:3] - body.tool[:3] - rest
            if float(np.linalg.norm(drawn)) >= self.pull_m:
                return
        raise TimeoutSkillError(
            f"nobody pulled {name} within {self.patience_s:g} s; it is still held"
        )


def _turned_across(body: Body, along: Vector) -> float:
    """Return the turn that puts the fingers side by side across the push."""
    yaw = math.atan2(along[1], along[0])
    near = body.yaw_rad
    return yaw + math.pi * round((near - yaw) / math.pi)
