"""The small protocol between an episode and a world: every motion is a generator of control steps.

The episode, not the world, counts steps, watches the clock and judges. So a motion yields after
each control step, and can be stopped there whatever it is doing.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from interlock.trials.scenario import Scenario, Scene

#: One control step per ``yield``; the returned mapping says what the motion did.
Motion = Generator[None, None, dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Camera:
    """A camera of the world: name and native size in pixels."""

    name: str
    width: int
    height: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldInfo:
    """What an agent may know about a world before it acts.

    Attributes:
        world: Name of the world.
        action: Names of the values of `act`, in order.
        low: Smallest value of each.
        high: Largest value of each.
        units: What the values mean, one sentence.
        period_s: Length of a control step, in s.
        cameras: Cameras by name.
        skills: Skill name -> how to call it, one sentence.
        reach_low_m: Lower corner of the workspace, in m.
        reach_high_m: Upper corner of the workspace, in m.
    """

    world: str
    action: tuple[str, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    units: str
    period_s: float
    cameras: tuple[Camera, ...]
    skills: dict[str, str]
    reach_low_m: tuple[float, float, float]
    reach_high_m: tuple[float, float, float]


@runtime_checkable
class Stoppable(Protocol):
    """A world with a Gate, which an operator can stop."""

    def halt(self, reason: str) -> dict[str, Any]:
        """Stop at the Gate, let the robot come to rest, and return what was under power."""
        ...


class World(Protocol):
    """A backend: a world that moves only when a motion is stepped."""

    def info(self) -> WorldInfo:
        """Return what may be known before acting."""
        ...

    def reset(self, scenario: Scenario, *, seed: int) -> None:
        """Put the world at the start of an episode."""
        ...

    def close(self) -> None:
        """Release what the world holds."""
        ...

    def conclude(self) -> None:
        """Find out what only the end shows; called once, before the last look at the scene."""
        ...

    def scene(self) -> Scene:
        """Return what is physically true now."""
        ...

    def state(self, *, private: bool) -> dict[str, Any]:
        """Return what the robot senses; with ``private``, true object positions too."""
        ...

    def picture(self, camera: str, *, width: int, height: int) -> bytes:
        """Return a PNG from a camera."""
        ...

    def place(self, name: str, position_m: tuple[float, float, float]) -> None:
        """Put a body somewhere: a disturbance, never an action of the robot."""
        ...

    def act(self, action: list[float]) -> Motion:
        """One control step with a low-level action."""
        ...

    def move_to(
        self, position_m: list[float], *, grip: float | None, tolerance_m: float, max_steps: int
    ) -> Motion:
        """Move the tool to a position."""
        ...

    def grip(self, opening: float, *, steps: int) -> Motion:
        """Set the gripper opening, 0 closed to 1 open, and wait for it."""
        ...

    def skill(self, name: str, arguments: list[str]) -> Motion:
        """Run a named skill."""
        ...

    def wait(self, steps: int) -> Motion:
        """Hold still for some control steps."""
        ...
