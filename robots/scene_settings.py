"""The strict schema of ``configs/scenes/*.yml``."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from interlock.messages.errors import SettingsError, nearest
from interlock.messages.settings import build, read_yaml
from interlock.robots.fixture_settings import (
    CameraSettings,
    ConveyorSettings,
    PersonSettings,
    TableSettings,
    TraySettings,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

COLORS = {
    "red": (0.85, 0.15, 0.12),
    "blue": (0.15, 0.25, 0.85),
    "green": (0.10, 0.65, 0.20),
    "yellow": (0.92, 0.80, 0.10),
    "orange": (0.95, 0.50, 0.08),
    "purple": (0.55, 0.20, 0.70),
    "black": (0.06, 0.06, 0.07),
}
SIZES_PER_SHAPE = {"box": 3, "cylinder": 2, "sphere": 1}
# Names that the model or the checker already uses.
RESERVED = frozenset({"table", "tray", "floor", "stand", "person_hand", "conveyor", "hand", "tcp"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A rectangle on the table.

    Attributes:
        low_m: Smallest x and y, in m, in the world.
        high_m: Largest x and y, in m.
    """

    low_m: tuple[float, float]
    high_m: tuple[float, float]

    def __post_init__(self) -> None:
        if not all(low <= high for low, high in zip(self.low_m, self.high_m, strict=True)):
            raise ValueError(f"low_m {self.low_m} is above high_m {self.high_m}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectSettings:
    """Something that can be grasped.

    Attributes:
        name: Name of the object, e.g. ``"cup_red"``.
        shape: box (half sizes), cylinder (radius, half height) or sphere (radius).
        size_m: Sizes of the shape, in m.
        color: One of ``COLORS``; trackers find the object by it.
        mass_kg: Mass, in kg.
        position_m: Where it stands when the layout is not drawn: x, y in m.
        region: Where the layout may put it; None leaves it at ``position_m``.
        yaw_range_rad: Smallest and largest turn about the vertical, in rad.
        stands_on: What it stands on.
    """

    name: str
    shape: Literal["box", "cylinder", "sphere"]
    size_m: tuple[float, ...]
    color: str
    mass_kg: float = 0.1
    position_m: tuple[float, float]
    region: Region | None = None
    yaw_range_rad: tuple[float, float] = (0.0, 0.0)
    stands_on: Literal["table", "conveyor"] = "table"

    def __post_init__(self) -> None:
        expected = SIZES_PER_SHAPE[self.shape]
        if len(self.size_m) != expected or not all(0.0 < s <= 0.5 for s in self.size_m):
            raise ValueError(
                f"size_m of a {self.shape} is {expected} numbers between 0 and 0.5, "
                f"got {list(self.size_m)}"
            )
        if self.color not in COLORS:
            raise ValueError(f"unknown color {self.color!r}; {nearest(self.color, COLORS)}")
        if not 0.001 <= self.mass_kg <= 3.0:
            raise ValueError(f"mass_kg {self.mass_kg} is outside 0.001 to 3 (the arm's payload)")

    @property
    def half_height_m(self) -> float:
        """Height of its centre above what it stands on, in m."""
        return self.size_m[-1]

    @property
    def radius_m(self) -> float:
        """Radius of the circle that holds its footprint, in m."""
        return math.hypot(*self.size_m[:2]) if self.shape == "box" else self.size_m[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneSettings:
    """One scene. The robot stands at the world's origin, x forward, z up.

    Attributes:
        name: Name of the scene.
        arm: Our primitive Panda, or that of MuJoCo Menagerie if the user has it (``menagerie``).
        objects: What can be grasped.
        table: The table, or None for a bare floor below.
        tray: The tray, or None.
        person: A person's hand, or None.
        conveyor: A belt, or None.
        cameras: Fixed cameras by name; ``wrist`` is part of the robot.
        min_gap_m: Smallest free space between two objects of a drawn layout, in m.
        noslip_iterations: MuJoCo's no-slip steps; 3 keeps a held object from creeping.
    """

    name: str
    arm: Literal["primitive", "menagerie"] = "primitive"
    objects: tuple[ObjectSettings, ...] = ()
    table: TableSettings | None = field(default_factory=TableSettings)
    tray: TraySettings | None = None
    person: PersonSettings | None = None
    conveyor: ConveyorSettings | None = None
    cameras: dict[str, CameraSettings] = field(default_factory=dict)
    min_gap_m: float = 0.04
    noslip_iterations: int = 3

    def __post_init__(self) -> None:
        if not (0.0 <= self.min_gap_m <= 0.5 and 0 <= self.noslip_iterations <= 50):
            raise ValueError(
                f"min_gap_m {self.min_gap_m} is outside 0 to 0.5, or noslip_iterations "
                f"{self.noslip_iterations} outside 0 to 50"
            )
        names = [item.name for item in self.objects]
        _refuse_repeated(names)
        for item in self.objects:
            if item.name in RESERVED or not item.name.isidentifier():
                raise ValueError(f"object name {item.name!r} is reserved or not a plain name")
            if item.stands_on == "conveyor" and self.conveyor is None:
                raise ValueError(f"object {item.name!r} is on a conveyor, but there is none")
        if "wrist" in self.cameras:
            raise ValueError("camera 'wrist' is part of the robot; choose another name")


def load_scene(path: Path) -> SceneSettings:
    """Read a scene file.

    Raises:
        SettingsError: If the file is missing or breaks the schema.
    """
    return build(SceneSettings, read_yaml(path), where=str(path))


def shipped_scene(name: str) -> SceneSettings:
    """Read one of the scenes that come with Interlock, e.g. ``"tabletop"``.

    Raises:
        SettingsError: If there is no such scene.
    """
    # The room lies beside this one, in the checkout as in the wheel.
    folder = Path(__file__).parent.parent / "configs" / "scenes"
    known = {path.stem: path for path in folder.glob("*.yml")}
    if name not in known:
        raise SettingsError(f"no shipped scene {name!r}; {nearest(name, known)}")
    return load_scene(known[name])


def _refuse_repeated(names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"two objects are named {name!r}")
        seen.add(name)
