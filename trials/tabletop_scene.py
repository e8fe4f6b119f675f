"""A scenario as the data of a scene file: what stands on the table, and four cameras."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlock.messages import SettingsError
from interlock.trials.errors import RefusedError

if TYPE_CHECKING:
    from interlock.trials.scenario import Scenario, Thing

CAMERAS = {
    "front": {"position_m": [1.45, 0.0, 0.85], "look_at_m": [0.40, 0.0, 0.10], "fovy_deg": 55},
    "top": {
        "position_m": [0.45, 0.0, 1.3],
        "look_at_m": [0.45, 0.0, 0.0],
        "fovy_deg": 50,
        "up": [1, 0, 0],
    },
    "side": {"position_m": [0.55, -1.15, 0.6], "look_at_m": [0.50, 0.0, 0.1], "fovy_deg": 48},
}
#: A scene file puts everything onto the table; raised bodies wait here until they are put up.
PARKING_M = (0.15, -0.5)
REACH_LOW_M = (0.25, -0.55, 0.0)
REACH_HIGH_M = (0.80, 0.55, 0.7)
SCENE_COLOURS = ("red", "blue", "green", "yellow", "orange", "purple", "black")


def raised_bodies(scenario: Scenario) -> list[str]:
    """Return the bodies that start on something else than the table, lowest first."""
    high = {n: t.position_m[2] - t.size_m[2] / 2 for n, t in scenario.objects.items()}
    return sorted((name for name in high if high[name] > 0.005), key=lambda name: high[name])


def scene_data(scenario: Scenario) -> dict[str, Any]:
    """Return the scene file of a scenario.

    Raises:
        SettingsError: If a body's colour is not one the scene knows.
    """
    objects = [_object(name, thing) for name, thing in scenario.objects.items()]
    for number, name in enumerate(raised_bodies(scenario)):
        entry = next(item for item in objects if item["name"] == name)
        entry["position_m"] = [PARKING_M[0] + 0.1 * number, PARKING_M[1]]
    # Where things stand is the task's business: no gap is asked for.
    return {"name": "trial", "objects": objects, "cameras": CAMERAS, "min_gap_m": 0.0}


def _object(name: str, thing: Thing) -> dict[str, Any]:
    if thing.colour not in SCENE_COLOURS:
        raise SettingsError(
            f"{name}: colour {thing.colour!r} is not one of {', '.join(SCENE_COLOURS)}"
        )
    x, y, z = (size / 2 for size in thing.size_m)
    shape = {"cup": "cylinder", "ball": "sphere"}.get(thing.shape, thing.shape)
    sizes = {"box": [x, y, z], "cylinder": [x, z], "sphere": [x]}[shape]
    return {
        "name": name,
        "shape": shape,
        "size_m": sizes,
        "color": thing.colour,
        "mass_kg": 0.1 if thing.movable else 3.0,
        "position_m": list(thing.position_m[:2]),
    }


def check_reach(position_m: list[float]) -> None:
    """Refuse a position that the arm does not reach.

    Raises:
        RefusedError: With the limits.
    """
    low, high = REACH_LOW_M, REACH_HIGH_M
    if all(a <= value <= b for a, value, b in zip(low, position_m, high, strict=True)):
        return
    shown = ", ".join(f"{value:.3f}" for value in position_m)
    raise RefusedError(
        f"({shown}) m is outside the reach of the arm",
        way_out=f"Stay within {low} to {high} m",
        codes=("workspace",),
    )
