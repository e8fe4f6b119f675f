"""What a skill is: typed parameters with units, a closed loop, and a place in the registry."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from interlock.messages import SettingsError, nearest
from interlock.messages.settings import build
from interlock.policies.errors import ProgramError
from interlock.policies.skills.body import Body
from interlock.policies.skills.poses import check_target

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interlock.policies.task import Task

S = TypeVar("S", bound="type[Skill]")

#: Name -> skill; tools, MCP and the docs are made from it.
SKILLS: dict[str, type[Skill]] = {}


@dataclasses.dataclass
class Skill:
    """A closed-loop motion. Subclasses are dataclasses: their fields are the parameters.

    A field's unit is in its name (``height_m``); fields named ``target`` or ``on`` take an
    object's name, a point or a pose. A skill reads its own fields in every control cycle, so that
    ``task.update(...)`` redirects it.

    Attributes:
        name: Name in the registry.
        resources: What it needs of the robot.
    """

    name: ClassVar[str] = ""
    resources: ClassVar[tuple[str, ...]] = ("arm", "gripper")
    targets: ClassVar[tuple[str, ...]] = ("target", "on")

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Refuse parameters that make no sense; subclasses add their own."""
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name in self.targets and value is not None:
                setattr(self, field.name, check_target(f"{self.name} {field.name}", value))

    def update(self, **changes: Any) -> None:
        """Change parameters of the running skill.

        Raises:
            ProgramError: If a parameter does not exist or does not fit.
        """
        known = {field.name for field in dataclasses.fields(self)}
        for key in changes:
            if key not in known:
                raise ProgramError(f"{self.name} has no parameter {key!r}; {nearest(key, known)}")
        changed = dataclasses.replace(self, **changes)
        for key in changes:
            setattr(self, key, getattr(changed, key))

    def touches(self) -> tuple[str, ...]:
        """Return the objects that it may touch."""
        values = (getattr(self, name, None) for name in self.targets)
        return tuple(v for v in values if isinstance(v, str))

    async def run_as(self, task: Task[Any]) -> dict[str, Any]:
        """Run it as a task, under a token of the Gate for what it needs."""
        runtime = task.runtime
        held = runtime.held.name if runtime.held else ""
        names = (*self.touches(), held, runtime.near)
        touches = tuple(dict.fromkeys(name for name in names if name))
        lease = runtime.leases.lease(
            task.name, resources=self.resources, touches=touches, priority=task.priority
        )
        async with lease:
            return await self.run(Body(runtime, task, lease))

    async def run(self, body: Body) -> dict[str, Any]:
        """Do it, and return what was measured."""
        raise NotImplementedError

    def __str__(self) -> str:
        """Return it as a line for people, e.g. ``grasp cup_red``."""
        shown = []
        for name in self.targets:
            value = getattr(self, name, None)
            if isinstance(value, str):
                shown.append(value)
            elif value is not None:
                shown.append("(" + ", ".join(f"{x:.2f}" for x in value[:3]) + ")")
        return " ".join([self.name, *shown])


def skill(name: str) -> Any:
    """Enter a skill class into the registry under a name."""

    def register(cls: S) -> S:
        cls.name = name
        SKILLS[name] = cls
        return cls

    return register


def make_skill(name: str, parameters: Mapping[str, Any]) -> Skill:
    """Build a skill from a name and JSON parameters.

    Raises:
        SettingsError: Unknown skill or parameter (with the nearest), wrong type or range.
    """
    cls = SKILLS.get(name)
    if cls is None:
        raise SettingsError(f"no skill {name!r}; {nearest(name, SKILLS)}")
    return build(cls, dict(parameters), where=f"skill {name}")
