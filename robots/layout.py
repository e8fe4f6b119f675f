"""Where the objects of a scene stand: drawn from a seed of its own, and from nothing else."""

from __future__ import annotations

import hashlib
import json
import math
from typing import TYPE_CHECKING

import numpy as np

from interlock.messages.errors import SettingsError
from interlock.robots.geometry import Vector, pose

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interlock.robots.scene_settings import ObjectSettings, SceneSettings

Layout = dict[str, Vector]

_TRIES = 2000
# Objects start a hair above what they stand on, so that no contact begins with an overlap.
_LIFT_M = 0.0005


def draw_layout(settings: SceneSettings, seed: int) -> Layout:
    """Draw world_from_object, shape (7,), of every object.

    Objects without a region stand where the settings say; the others are drawn until they
    keep ``min_gap_m`` from all before them. The same seed gives the same layout, whatever
    else uses random numbers.

    Raises:
        SettingsError: If the regions leave no room.
    """
    rng = np.random.default_rng(seed)
    placed: list[tuple[ObjectSettings, tuple[float, float]]] = []
    layout: Layout = {}
    for item in settings.objects:
        x, y = _place(item, placed, settings.min_gap_m, rng)
        yaw = float(rng.uniform(*item.yaw_range_rad))
        placed.append((item, (x, y)))
        layout[item.name] = pose(
            (x, y, _support_height_m(settings, item) + item.half_height_m + _LIFT_M),
            (math.cos(yaw / 2), 0.0, 0.0, math.sin(yaw / 2)),
        )
    return layout


def layout_hash(layout: Mapping[str, Vector]) -> str:
    """Return the SHA-256 of a layout: equal exactly when every pose is equal to the bit."""
    exact = {name: [float(v).hex() for v in layout[name]] for name in sorted(layout)}
    return hashlib.sha256(json.dumps(exact, sort_keys=True).encode()).hexdigest()


def _place(
    item: ObjectSettings,
    placed: list[tuple[ObjectSettings, tuple[float, float]]],
    min_gap_m: float,
    rng: np.random.Generator,
) -> tuple[float, float]:
    if item.region is None:
        return item.position_m
    for _ in range(_TRIES):
        x, y = (float(v) for v in rng.uniform(item.region.low_m, item.region.high_m))
        if all(
            math.dist((x, y), place) >= item.radius_m + other.radius_m + min_gap_m
            for other, place in placed
        ):
            return x, y
    raise SettingsError(
        f"no room for {item.name!r} in its region {item.region.low_m} to {item.region.high_m} "
        f"with min_gap_m {min_gap_m}; widen the region or lower the gap"
    )


def _support_height_m(settings: SceneSettings, item: ObjectSettings) -> float:
    if item.stands_on == "conveyor" and settings.conveyor is not None:
        return 2 * settings.conveyor.half_m[2]
    return 0.0
