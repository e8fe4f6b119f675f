"""What lies on the table at the start of an episode, and what is true of it later.

A `Scenario` is the world as a task declares it. A `Scene` is the world as it physically is at one
control step, read by predicates and judges. Positions are centres in the world frame, in m.
"""

from __future__ import annotations

import dataclasses
import math
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Vector = tuple[float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """A body on the table.

    Attributes:
        position_m: Centre at the start, world frame, in m.
        size_m: Full extents along x, y, z, in m.
        shape: Geometry; a cup is hollow.
        colour: Name of its colour.
        movable: Whether the arm can move it.
        person: Whether it stands for (a part of) a person.
    """

    position_m: Vector
    size_m: Vector = (0.04, 0.04, 0.04)
    shape: Literal["box", "cylinder", "cup", "ball"] = "box"
    colour: str = "red"
    movable: bool = True
    person: bool = False

    def __post_init__(self) -> None:
        if not all(math.isfinite(value) for value in self.position_m):
            raise ValueError(f"position_m must be finite, got {self.position_m}")
        if not all(0.0 < value <= 2.0 for value in self.size_m):
            raise ValueError(f"size_m must lie in 0 to 2 m, got {self.size_m}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Zone:
    """A marked area of the table: centre and full extents in m."""

    centre_m: Vector
    size_m: tuple[float, float] = (0.12, 0.12)


@dataclass(frozen=True, slots=True, kw_only=True)
class Disturbance:
    """The world moves a body by itself.

    Attributes:
        at_step: Control step after which it happens.
        object: Which body.
        to_m: Where it is put, world frame, in m.
    """

    at_step: int
    object: str
    to_m: Vector

    def __post_init__(self) -> None:
        if self.at_step < 1:
            raise ValueError(f"at_step must be 1 or more, got {self.at_step}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """The start of an episode.

    Attributes:
        objects: Bodies by name.
        zones: Marked areas by name.
        disturbances: What the world does by itself.
        jitter_m: Movable bodies are shifted in x and y by up to this, drawn from the seed.
    """

    objects: dict[str, Thing]
    zones: dict[str, Zone] = field(default_factory=dict)
    disturbances: tuple[Disturbance, ...] = ()
    jitter_m: float = 0.0

    def __post_init__(self) -> None:
        if both := set(self.objects) & set(self.zones):
            raise ValueError(f"{sorted(both)} are both objects and zones; rename one")
        if not 0.0 <= self.jitter_m <= 0.2:
            raise ValueError(f"jitter_m must lie in 0 to 0.2 m, got {self.jitter_m}")
        for disturbance in self.disturbances:
            if disturbance.object not in self.objects:
                raise ValueError(f"disturbance of {disturbance.object!r}, which is not an object")

    def names(self) -> frozenset[str]:
        """Return every name a predicate or a solution may use."""
        return frozenset(self.objects) | frozenset(self.zones)

    def seeded(self, seed: int) -> Scenario:
        """Return the scenario with its movable bodies shifted; the same seed, the same shift."""
        if self.jitter_m == 0.0:
            return self
        draw = random.Random(seed)
        shifted = {name: self._shift(thing, draw) for name, thing in self.objects.items()}
        return dataclasses.replace(self, objects=shifted, jitter_m=0.0)

    def _shift(self, thing: Thing, draw: random.Random) -> Thing:
        if not thing.movable:
            return thing
        dx, dy = (draw.uniform(-self.jitter_m, self.jitter_m) for _ in range(2))
        x, y, z = thing.position_m
        return dataclasses.replace(thing, position_m=(x + dx, y + dy, z))


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """A body as it is now: centre and full extents in m, whether the hand holds it."""

    position_m: Vector
    size_m: Vector
    held: bool = False
    start_m: Vector = (0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The world at one control step, as it physically is.

    Attributes:
        bodies: Every body by name.
        zones: Every marked area by name.
        hand_m: Position of the tool, world frame, in m.
        grip_open: How far the gripper is open, 0 to 1.
        signals: What an environment says of itself, where it judges itself.
    """

    bodies: Mapping[str, Body]
    zones: Mapping[str, Zone]
    hand_m: Vector
    grip_open: float
    signals: Mapping[str, bool] = field(default_factory=dict)

    def place(self, name: str) -> Vector:
        """Return where a body, a zone or the hand is."""
        if name == "hand":
            return self.hand_m
        if name in self.bodies:
            return self.bodies[name].position_m
        return self.zones[name].centre_m
