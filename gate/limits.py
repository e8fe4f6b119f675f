"""Limits as a configuration states them, resolved against the robot's own.

A limit may be a list in joint order or a mapping by joint name; joints left out of a mapping keep
the robot's own limit. A limit that is negative, zero, NaN, of the wrong length, for an unknown
joint or beyond the robot's own is an error: a guard that was asked for is never weakened silently.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from interlock.gate.errors import GateConfigError
from interlock.gate.robot import JointLimits
from interlock.messages.errors import nearest

if TYPE_CHECKING:
    from interlock.messages.columns import Vector

#: A list in joint order, or joint name -> value.
PerJoint = list[float] | dict[str, float]


@dataclass(frozen=True, kw_only=True)
class LimitSettings:
    """Limits of the commanded motion; what is left out is the robot's own limit.

    Attributes:
        position_low: Smallest joint positions, in rad.
        position_high: Largest joint positions, in rad.
        velocity: Largest joint speeds, in rad/s.
        acceleration: Largest joint accelerations, in rad/s^2.
        jerk: Largest joint jerks, in rad/s^3.
        velocity_scale: Share of the velocity limits to use, above 0 up to 1.
        acceleration_scale: Share of the acceleration limits to use.
        jerk_scale: Share of the jerk limits to use.
    """

    position_low: PerJoint | None = None
    position_high: PerJoint | None = None
    velocity: PerJoint | None = None
    acceleration: PerJoint | None = None
    jerk: PerJoint | None = None
    velocity_scale: float = 1.0
    acceleration_scale: float = 1.0
    jerk_scale: float = 0.1

    def __post_init__(self) -> None:
        for name in ("velocity_scale", "acceleration_scale", "jerk_scale"):
            value = getattr(self, name)
            if not 0.0 < value <= 1.0:
                raise ValueError(f"{name}: expected a share above 0 up to 1, got {value}")


def resolve(settings: LimitSettings, own: JointLimits, names: tuple[str, ...]) -> JointLimits:
    """Return the limits to enforce.

    Raises:
        GateConfigError: If a limit is not a limit, or is wider than the robot's own.
    """
    low = _resolve("position_low", settings.position_low, own.position_low, names)
    high = _resolve("position_high", settings.position_high, own.position_high, names)
    if np.any(low < own.position_low) or np.any(high > own.position_high) or np.any(low >= high):
        raise GateConfigError(
            "limits: position_low and position_high: expected a range inside the robot's own, "
            f"{np.round(own.position_low, 4).tolist()} to {np.round(own.position_high, 4).tolist()}"
        )
    scaled = {}
    for name in ("velocity", "acceleration", "jerk"):
        value = _resolve(name, getattr(settings, name), getattr(own, name), names)
        _check_rate(name, value, getattr(own, name), names)
        scaled[name] = value * getattr(settings, f"{name}_scale")
    return JointLimits(position_low=low, position_high=high, **scaled)


def _resolve(key: str, given: PerJoint | None, own: Vector, names: tuple[str, ...]) -> Vector:
    if given is None:
        return own.copy()
    if isinstance(given, list):
        if len(given) != len(names):
            raise GateConfigError(
                f"limits: {key}: expected {len(names)} values, one per joint, got {len(given)}"
            )
        value = np.array(given, np.float64)
    else:
        value = own.copy()
        for joint, limit in given.items():
            if joint not in names:
                raise GateConfigError(
                    f"limits: {key}: unknown joint {joint!r}; {nearest(str(joint), names)}"
                )
            value[names.index(joint)] = limit
    if not np.isfinite(value).all():
        raise GateConfigError(f"limits: {key}: expected finite numbers, got {value.tolist()}")
    return value


def _check_rate(key: str, value: Vector, own: Vector, names: tuple[str, ...]) -> None:
    for joint, limit, most in zip(names, value, own, strict=True):
        if not 0.0 < limit <= most:
            raise GateConfigError(
                f"limits: {key}: {joint}: expected above 0 up to the robot's own {most:g}, "
                f"got {limit:g}"
            )
