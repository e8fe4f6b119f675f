"""What a program can do with an arm, and the baseline: straight to the driver.

No node, no camera, no clock: physics in steps of 2 ms, control cycles of 20 ms. The same program
runs in both arms of an experiment and sees the same world.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Protocol

import numpy as np

from interlock.benchmarks.suites.arena import CYCLE_NS, Record
from interlock.robots import panda
from interlock.robots.scene import build_scene
from interlock.robots.world import SimWorld

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from interlock.robots.scene_settings import SceneSettings

    Vector = NDArray[np.float64]

_KEY = b"interlock lockstep suites 000000"
_STEP_NS = 2_000_000
_FASTEST_RAD = panda.LIMITS.velocity * CYCLE_NS * 1e-9
_LEASE_MS = 200


class Arm(Protocol):
    """What a program and an experiment can do.

    Attributes:
        name: ``baseline`` or ``gate``.
        world: The simulated world.
        record: What was measured.
        refused: Commands that were not admitted whole.
        writes: Who gave the driver a new target, in order.
        visible: Whether the sensors see an object now.
    """

    name: str
    world: SimWorld
    record: Record
    refused: int
    writes: list[str]
    visible: Callable[[str], bool]

    def ask(self, owner: str) -> None:
        """Ask for the arm."""

    def granted(self, owner: str) -> bool:
        """Return whether a program may move the arm."""

    def move(self, rows: Vector, owner: str) -> bool:
        """Send rows of joint positions, one per cycle; return whether all of them were taken."""

    def beat(self, owner: str) -> None:
        """Say that a program is alive."""

    def cancel(self, owner: str) -> bool:
        """Cancel what a program does, or wait on; return whether the cancel has completed."""

    def stop(self) -> None:
        """The operator's stop."""

    def died(self, owner: str) -> None:
        """The process of a program has died."""

    def advance(self, cycles: int = 1) -> None:
        """Let control cycles pass."""


class Direct:
    """A driver as most are: it plays the rows it was given, and whoever sends last is right."""

    name = "baseline"

    def __init__(self, scene: SceneSettings, *, seed: int) -> None:
        self.world = SimWorld(build_scene(scene, seed))
        self.record = Record()
        self.refused = 0
        self.writes: list[str] = []
        self.visible: Callable[[str], bool] = lambda _: True
        self._rows: deque[Vector] = deque()
        self._at = self.world.position

    def ask(self, owner: str) -> None:
        """Nobody needs to ask."""

    def granted(self, owner: str) -> bool:
        """Everybody may."""
        return True

    def move(self, rows: Vector, owner: str) -> bool:
        """Replace what is left by these rows."""
        self._rows = deque(np.atleast_2d(rows))
        self.writes.append(owner)
        return True

    def beat(self, owner: str) -> None:
        """Nobody listens."""

    def cancel(self, owner: str) -> bool:
        """The call returns at once; what the driver was given it plays to the end."""
        return True

    def stop(self) -> None:
        """The operator's stop empties the driver; a program that tries again fills it again."""
        self._rows.clear()

    def died(self, owner: str) -> None:
        """Nobody notices."""

    def advance(self, cycles: int = 1) -> None:
        """Let control cycles pass."""
        for _ in range(cycles):
            asked = self._rows.popleft() if self._rows else self._at
            # As drivers do, no faster than the joints may be.
            target = self._at + np.clip(asked - self._at, -_FASTEST_RAD, _FASTEST_RAD)
            steps = CYCLE_NS // _STEP_NS
            speed = (target - self._at) / (CYCLE_NS * 1e-9)
            for step in range(1, steps + 1):
                self.world.set_servo(self._at + speed * (step * _STEP_NS * 1e-9), speed)
                self.world.step()
            self._at = target
            if not self._rows:
                self.world.set_servo(target, np.zeros_like(target))
            note(self.record, self.world, target)


def note(record: Record, world: SimWorld, set_point: Vector) -> None:
    """Take one control cycle into the record."""
    record.tool.append(world.tool_pose[:3])
    record.speed.append(world.tool_speed_m_s)
    record.set_point.append(np.array(set_point))
