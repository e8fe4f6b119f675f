"""What an agent's verbs do on the tabletop: named skills, the fingers alone, and jogging."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from interlock.messages.errors import nearest
from interlock.policies.program import start
from interlock.policies.skills import Grasp, Home, Lift, MoveTo, Place, Push, Release, Skill
from interlock.policies.skills.poses import tool_down
from interlock.trials.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Coroutine

    from interlock.policies.skills.body import Body

SAME_M = 5e-4
SKILLS = {
    "pick": "pick OBJECT: take it and lift it by 12 cm",
    "place": "place OBJECT|ZONE, or place X Y [Z]: put what is held there and let go",
    "push": "push OBJECT DX DY: push it along the table, in m",
    "release": "release: open the fingers and go up",
    "home": "home: move the arm to its home position",
}


def make_work(
    name: str, arguments: list[str], *, known: Collection[str]
) -> Skill | Coroutine[Any, Any, Any]:
    """Return what a named skill does.

    Raises:
        UsageError: If the arguments do not fit the skill, or name nothing that is there.
    """
    numbers = _numbers(arguments)
    match name, len(arguments):
        case "pick", 1:
            return pick(_known(arguments[0], known))
        case "place", 1:
            return place(_known(arguments[0], known))
        case "place", 2 | 3 if numbers is not None:
            return place((numbers[0], numbers[1], numbers[2] if len(numbers) == 3 else 0.0))
        case "push", 3 if (by := _numbers(arguments[1:])) is not None:
            return Push(_known(arguments[0], known), by_m=(by[0], by[1]))
        case "release", 0:
            return Release()
        case "home", 0:
            return Home()
    raise UsageError(f"skill {name} {' '.join(arguments)}: {SKILLS[name]}")


def _known(name: str, names: Collection[str]) -> str:
    if name not in names:
        raise UsageError(f"nothing is called {name!r}; {nearest(name, names)}")
    return name


def _numbers(words: list[str]) -> list[float] | None:
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        return None
    return numbers if all(math.isfinite(number) for number in numbers) else None


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
class GoTo(MoveTo):
    """Move the tool; it may touch what can be moved, as one does to take it without a skill.

    Attributes:
        touching: Objects that the fingers may touch.
    """

    touching: tuple[str, ...] = ()

    def touches(self) -> tuple[str, ...]:
        """Return what the fingers may touch."""
        return self.touching


@dataclass
class Jog(Skill):
    """Follow a point that small steps push along, until told to stop.

    Attributes:
        goal_m: Where the tool goes, in m in the world.
        width_m: Distance between the fingers, in m.
        told_m: What the fingers were told last, in m.
        stopped: Set to end it at the goal.
        touching: Objects that the fingers may touch.
    """

    name: ClassVar[str] = "jog"

    goal_m: list[float] = field(default_factory=list)
    width_m: float = 0.08
    told_m: float = 0.08
    stopped: bool = False
    touching: tuple[str, ...] = ()

    def touches(self) -> tuple[str, ...]:
        """Return what the fingers may touch."""
        return self.touching

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
