"""The small conversions between a robot and a model: units, gripper conventions, affine maps."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interlock.messages.errors import nearest

Array = NDArray[np.float64]

#: Unit -> (what it measures, factor to the first unit of its kind).
UNITS: dict[str, tuple[str, float]] = {
    "m": ("length", 1.0),
    "cm": ("length", 0.01),
    "mm": ("length", 0.001),
    "rad": ("angle", 1.0),
    "deg": ("angle", float(np.pi / 180.0)),
    "rad/s": ("angular velocity", 1.0),
    "deg/s": ("angular velocity", float(np.pi / 180.0)),
    "m/s": ("velocity", 1.0),
    "1": ("pure number", 1.0),
}


def unit_factor(unit: str, *, to: str) -> float:
    """Return what a number in ``unit`` is multiplied by to be in ``to``.

    Raises:
        ValueError: An unknown unit (with the nearest), or two units of different things.
    """
    check_unit(unit)
    check_unit(to)
    (kind, factor), (wanted, base) = UNITS[unit], UNITS[to]
    if kind != wanted:
        raise ValueError(f"{unit!r} is a {kind} and {to!r} is a {wanted}")
    return factor / base


def check_unit(unit: str) -> None:
    """Raise ValueError for a unit that is not known, with the nearest."""
    if unit not in UNITS:
        raise ValueError(f"unknown unit {unit!r}; {nearest(unit, UNITS)}")


_NUMBER = r"([+-]?\d+(?:\.\d+)?)"
_CONVENTION = re.compile(rf"^{_NUMBER}\s*=\s*(open|closed)\s*,\s*{_NUMBER}\s*=\s*(open|closed)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class GripperConvention:
    """Which number means open and which closed; in between is in between.

    Attributes:
        open: The number for fully open.
        closed: The number for fully closed.
    """

    open: float
    closed: float

    @classmethod
    def parse(cls, text: str) -> GripperConvention:
        """Read ``"1=open, -1=closed"`` and the like; both ends must be named.

        Raises:
            ValueError: Anything else. There is no default: a wrong sign drops or crushes.
        """
        found = _CONVENTION.match(text.strip())
        if not found or found[2] == found[4] or float(found[1]) == float(found[3]):
            raise ValueError(
                f"gripper {text!r} does not name both ends; write for example "
                "'1=open, 0=closed' or '-1=open, 1=closed'"
            )
        ends = {found[2]: float(found[1]), found[4]: float(found[3])}
        return cls(open=ends["open"], closed=ends["closed"])

    def fraction(self, value: Array) -> Array:
        """Return how far open, 0 closed to 1 open, of what the model says; the ends are kept."""
        share: Array = (np.asarray(value, np.float64) - self.closed) / (self.open - self.closed)
        return np.clip(share, 0.0, 1.0)

    def value(self, fraction: Array) -> Array:
        """Return what the model is told for a fraction, 0 closed to 1 open."""
        told: Array = self.closed + np.asarray(fraction, np.float64) * (self.open - self.closed)
        return told

    def __str__(self) -> str:
        return f"{self.open:g}=open, {self.closed:g}=closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Affine:
    """``sign * scale * value + offset``, per column or the same for all."""

    sign: tuple[int, ...] = ()
    scale: tuple[float, ...] = ()
    offset: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if any(s not in (-1, 1) for s in self.sign):
            raise ValueError(f"sign holds {list(self.sign)}; only 1 and -1 are signs")
        if any(not np.isfinite(s) or s == 0 for s in self.scale):
            raise ValueError(f"scale holds {list(self.scale)}; a scale is finite and not 0")
        if any(not np.isfinite(o) for o in self.offset):
            raise ValueError(f"offset holds {list(self.offset)}; an offset is finite")

    def wrong_length(self, columns: int) -> str | None:
        """Return which of the three does not have one value, or one per column."""
        for name in ("sign", "scale", "offset"):
            length = len(getattr(self, name))
            if length not in (0, 1, columns):
                return f"{name} has {length} values"
        return None

    def __call__(self, value: Array) -> Array:
        """Apply it to the last axis."""
        result: Array = np.asarray(value, np.float64)
        if self.sign:
            result = result * np.array(self.sign)
        if self.scale:
            result = result * np.array(self.scale)
        return result + np.array(self.offset) if self.offset else result
