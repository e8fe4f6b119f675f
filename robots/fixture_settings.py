"""The schema of what stands still in a scene, or is moved by the experiment, and of cameras."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSettings:
    """The table; its top is z = 0, the height of the robot's base.

    Attributes:
        center_m: Centre of the top: x, y in m.
        half_m: Half sizes of the top: x, y in m.
    """

    center_m: tuple[float, float] = (0.45, 0.0)
    half_m: tuple[float, float] = (0.45, 0.6)

    def __post_init__(self) -> None:
        _check_sizes("half_m", self.half_m)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraySettings:
    """A tray with a low rim.

    Attributes:
        center_m: Centre: x, y in m.
        half_m: Half sizes: x, y in m.
    """

    center_m: tuple[float, float]
    half_m: tuple[float, float] = (0.12, 0.09)

    def __post_init__(self) -> None:
        _check_sizes("half_m", self.half_m)


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonSettings:
    """A person's hand, moved by the experiment.

    Attributes:
        position_m: Centre of the hand at the start: x, y, z in m.
        radius_m: Radius of the capsule, in m.
        half_length_m: Half length of the capsule along the world's y, in m.
    """

    position_m: tuple[float, float, float]
    radius_m: float = 0.04
    half_length_m: float = 0.08

    def __post_init__(self) -> None:
        _check_sizes("radius_m and half_length_m", (self.radius_m, self.half_length_m))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConveyorSettings:
    """A belt whose surface moves along y.

    Attributes:
        center_m: Centre: x, y in m.
        half_m: Half sizes: x, y, z in m; it stands on the table.
        speed_m_s: Speed of the surface along y, in m/s.
    """

    center_m: tuple[float, float]
    half_m: tuple[float, float, float]
    speed_m_s: float

    def __post_init__(self) -> None:
        _check_sizes("half_m", self.half_m)
        if not abs(self.speed_m_s) <= 1.0:
            raise ValueError(f"speed_m_s {self.speed_m_s} is outside -1 to 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class CameraSettings:
    """A fixed camera.

    Attributes:
        position_m: Position: x, y, z in m.
        look_at_m: Point in the middle of the picture: x, y, z in m.
        fovy_deg: Vertical field of view, in degrees.
        up: Direction in the world that is up in the picture.
    """

    position_m: tuple[float, float, float]
    look_at_m: tuple[float, float, float]
    fovy_deg: float = 50.0
    up: tuple[float, float, float] = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        if not 5.0 <= self.fovy_deg <= 150.0:
            raise ValueError(f"fovy_deg {self.fovy_deg} is outside 5 to 150")
        x, y, z = (a - b for a, b in zip(self.look_at_m, self.position_m, strict=True))
        ux, uy, uz = self.up
        sideways = math.hypot(y * uz - z * uy, z * ux - x * uz, x * uy - y * ux)
        if not sideways > 1e-6 * math.hypot(x, y, z) * math.hypot(ux, uy, uz):
            raise ValueError(
                f"the camera looks along its up direction {self.up}, or at itself; change up"
            )


def _check_sizes(name: str, sizes: tuple[float, ...]) -> None:
    if not all(0.001 <= size <= 5.0 for size in sizes):
        raise ValueError(f"{name} {sizes} is outside 0.001 to 5 m")
