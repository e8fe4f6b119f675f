"""Configuration of the Gate: YAML to a frozen GateConfig, strict about everything.

A key that is not known, a limit that is no limit, or a check that does not exist is an error and
the Gate does not start. A Gate whose configuration names no check refuses every command.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from interlock.gate.checks import CHECKS
from interlock.gate.errors import GateConfigError
from interlock.gate.limits import LimitSettings
from interlock.gate.robot import Obstacle, Shape
from interlock.messages.errors import SettingsError, nearest
from interlock.messages.settings import build, parse_yaml, read_yaml

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from interlock.gate.proposal import Check

Mode = Literal["enforce", "shadow", "modify"]
MODES = ("enforce", "shadow", "modify")
_SIZES = {"box": 3, "sphere": 1, "cylinder": 2, "capsule": 2, "halfspace": 0}


@dataclass(frozen=True, kw_only=True)
class Zone:
    """A keep-out zone.

    Attributes:
        name: Its name in verdicts.
        shape: box (half sizes), sphere (radius), cylinder or capsule (radius, half length along
            z), halfspace (solid towards -z).
        size_m: Sizes of the shape, in m.
        position_m: Centre in the world, or relative to ``follows``, in m.
        quaternion: Its turn, w, x, y, z.
        follows: Object that it moves with; empty when it stands still.
    """

    name: str
    shape: Shape
    size_m: tuple[float, ...] = ()
    position_m: tuple[float, float, float] = (0.0, 0.0, 0.0)
    quaternion: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    follows: str = ""

    def __post_init__(self) -> None:
        expected = _SIZES[self.shape]
        if len(self.size_m) != expected or not all(0 < x < 100 for x in self.size_m):
            raise ValueError(
                f"zone {self.name!r}: a {self.shape} has {expected} sizes above 0 m, "
                f"got {list(self.size_m)}"
            )
        if not abs(float(np.linalg.norm(self.quaternion)) - 1.0) < 1e-3:
            raise ValueError(f"zone {self.name!r}: quaternion is not of length 1")

    @property
    def obstacle(self) -> Obstacle:
        """The zone as an obstacle."""
        pose = np.array([*self.position_m, *self.quaternion])
        return Obstacle(
            name=self.name, shape=self.shape, size=self.size_m, world_from_obstacle=pose
        )


@dataclass(frozen=True, kw_only=True)
class MonitorSettings:
    """What is watched between commands.

    Attributes:
        max_state_age_ms: The arm is held when the robot's state is older, in ms.
        path: The rest of the motion is judged again when something has moved.
        separation: So is the distance to people.
    """

    max_state_age_ms: float = 150.0
    path: bool = True
    separation: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.max_state_age_ms < 1e5:
            raise ValueError(f"max_state_age_ms: expected above 0, got {self.max_state_age_ms}")


@dataclass(frozen=True, kw_only=True)
class GateConfig:
    """How the Gate decides.

    Attributes:
        checks: Checks by name with their settings, in order.
        mode: ``enforce`` refuses; ``shadow`` admits and records what it would have refused;
            ``modify`` limits a command to the nearest acceptable one and says so.
        drivers: Ids of the nodes that move the robot: only the Gate may reach them.
        lead_ms: From the verdict to the earliest start of the motion, in ms; the Gate raises it
            while the driver reports commands that arrived too late.
        max_lead_ms: Largest lead, in ms.
        commit_ms: From then, how much of a motion a newer command can't replace, in ms.
        sample_ms: Time between samples of the motion, in ms.
        max_ahead_ms: How far ahead a command may start, in ms.
        max_horizon_s: Longest command, in s.
        limits: Limits of the motion.
        zones: Keep-out zones.
        monitors: What is watched between commands.
        max_lease_ms: Longest lease that a task may ask for, in ms.
        max_rate_hz: Most commands per second of one sender.
    """

    checks: dict[str, dict[str, Any]] = field(default_factory=dict)
    mode: Mode = "enforce"
    drivers: tuple[str, ...] = ("simulator",)
    lead_ms: float = 10.0
    max_lead_ms: float = 100.0
    commit_ms: float = 0.0
    sample_ms: float = 10.0
    max_ahead_ms: float = 1000.0
    max_horizon_s: float = 20.0
    limits: LimitSettings = field(default_factory=LimitSettings)
    zones: tuple[Zone, ...] = ()
    monitors: MonitorSettings = field(default_factory=MonitorSettings)
    max_lease_ms: int = 2000
    max_rate_hz: float = 500.0

    def __post_init__(self) -> None:
        ranges = {
            "lead_ms": (0, 1000),
            "max_lead_ms": (0, 1000),
            "commit_ms": (0, 5000),
            "sample_ms": (1, 20),
            "max_ahead_ms": (0, 60_000),
            "max_horizon_s": (0.001, 600),
            "max_lease_ms": (10, 60_000),
            "max_rate_hz": (1, 10_000),
        }
        for name, (low, high) in ranges.items():
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{name}: expected {low} to {high}, got {getattr(self, name)}")

        bounded = self.limits.position_low is not None or self.limits.position_high is not None
        for key, given, check in (
            ("zones", bool(self.zones), "path"),
            ("limits: position_low, position_high", bounded, "joint_range"),
        ):
            if given and self.checks and check not in self.checks:
                raise ValueError(f"{key}: nothing would guard them; add {check}: under checks:")

    def build_checks(self, *, where: str = "gate") -> tuple[Check, ...]:
        """Return the checks with their settings.

        Raises:
            GateConfigError: If a check is unknown or one of its settings is not acceptable.
        """
        found = []
        for name, settings in self.checks.items():
            if name not in CHECKS:
                raise GateConfigError(
                    f"{where}: checks: no check {name!r}; {nearest(str(name), CHECKS)}"
                )
            found.append(build(CHECKS[name], settings or {}, where=f"{where}: checks.{name}"))
        return tuple(found)


def read_config(path: Path) -> GateConfig:
    """Read a configuration file.

    Raises:
        GateConfigError: If anything in it is not acceptable.
    """
    return _config(lambda: read_yaml(path), where=str(path))


def parse_config(text: str, *, where: str = "gate configuration") -> GateConfig:
    """Read a configuration from text."""
    return _config(lambda: parse_yaml(text, where=where), where=where)


def _config(read: Callable[[], dict[str, Any]], *, where: str) -> GateConfig:
    try:
        data = read()
        checks = data.get("checks")
        if isinstance(checks, dict):
            data = {**data, "checks": {name: value or {} for name, value in checks.items()}}
        config = build(GateConfig, data, where=where)
        config.build_checks(where=where)
    except GateConfigError:
        raise
    except SettingsError as error:
        raise GateConfigError(str(error)) from error
    return config
