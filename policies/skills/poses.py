"""Poses as skills use them: the tool pointing straight down, turned about the vertical."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from interlock.messages import SettingsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

#: An object's name, a point (x, y, z in m) or a pose (x, y, z in m, quaternion w, x, y, z).
Target = str | tuple[float, ...]
_SEQUENCES = (list, tuple, np.ndarray)


def check_target(name: str, target: object) -> Target:
    """Return a target, lists turned into tuples.

    Raises:
        SettingsError: If it is no name, no point and no pose.
    """
    if isinstance(target, str) and target:
        return target
    if isinstance(target, _SEQUENCES) and len(target) in (3, 7):
        numbers = tuple(float(x) for x in target)
        if all(math.isfinite(x) for x in numbers):
            return numbers
    raise SettingsError(
        f"{name}: expected an object's name, a point (x, y, z in m) or a pose "
        f"(x, y, z in m, quaternion w, x, y, z), got {target!r:.80}"
    )


def tool_down(point: Sequence[float] | Vector, yaw_rad: float) -> Vector:
    """Return world_from_tool, shape (7,), at a point, pointing down, turned by ``yaw_rad``."""
    half = yaw_rad / 2
    return np.array([*point[:3], 0.0, math.cos(half), math.sin(half), 0.0])


def raised(point: Sequence[float] | Vector, by_m: float) -> Vector:
    """Return x, y, z of a point or pose, moved up by ``by_m``."""
    return np.array([point[0], point[1], point[2] + by_m])


def yaw_of(pose: Vector) -> float:
    """Return by how much a downward tool pose is turned about the vertical, in rad."""
    return 2 * math.atan2(pose[5], pose[4])


def tilt_of(pose: Vector) -> float:
    """Return the angle between the tool's axis and straight down, in rad."""
    w, x, y, z = pose[3:]
    down = -(w * w - x * x - y * y + z * z)  # minus the z component of the tool's z axis
    return math.acos(min(1.0, max(-1.0, down)))


def object_yaw(pose: Vector) -> float:
    """Return how an upright object is turned about the vertical, in rad."""
    w, x, y, z = pose[3:]
    return math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def nearest_turn(yaw_rad: float, near_rad: float, period_rad: float) -> float:
    """Return the angle equal to ``yaw_rad`` modulo a period that lies closest to another."""
    return yaw_rad + period_rad * round((near_rad - yaw_rad) / period_rad)
