"""What is known of the scene beforehand: places that stand still, and the sizes of objects."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Something to put objects on.

    Attributes:
        top_m: Middle of its upper surface: x, y, z in m, in the world.
        half_m: Half sizes of that surface along x and y, in m.
    """

    top_m: tuple[float, float, float]
    half_m: tuple[float, float] = (0.05, 0.05)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """The shape of an object.

    Attributes:
        half_height_m: Height of its origin above its underside, in m.
        width_m: How wide it is between the fingers, in m.
        turn_period_rad: It looks the same to the fingers after this turn about the vertical;
            0 for a round object.
    """

    half_height_m: float
    width_m: float
    turn_period_rad: float = 0.0


#: An object of which nothing is known: a small upright thing.
UNKNOWN = Thing(half_height_m=0.03, width_m=0.05)
