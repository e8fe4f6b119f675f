"""Poses as the Gate needs them: shape (7,), x y z in m, then a quaternion w, x, y, z."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from interlock.messages.columns import Vector


def usable(pose: Vector) -> bool:
    """Return whether a pose is finite and its quaternion is of length 1."""
    if pose.shape != (7,) or not np.isfinite(pose).all():
        return False
    return abs(float(np.linalg.norm(pose[3:])) - 1.0) < 1e-2


def multiply(first: Vector, second: Vector) -> Vector:
    """Return the product of two quaternions w, x, y, z."""
    a, b, c, d = first
    e, f, g, h = second
    return np.array(
        [
            a * e - b * f - c * g - d * h,
            a * f + b * e + c * h - d * g,
            a * g - b * h + c * e + d * f,
            a * h + b * g - c * f + d * e,
        ]
    )


def compose(a_from_b: Vector, b_from_c: Vector) -> Vector:
    """Return a_from_c."""
    q = a_from_b[3:]
    inverse = q * np.array([1.0, -1.0, -1.0, -1.0])
    turned = multiply(multiply(q, np.array([0.0, *b_from_c[:3]])), inverse)[1:]
    return np.concatenate([a_from_b[:3] + turned, multiply(q, b_from_c[3:])])


def moved_m(before: Vector, after: Vector, radius_m: float) -> float:
    """Return how far any point within a radius of the origin has moved at most, in m."""
    shift = float(np.linalg.norm(after[:3] - before[:3]))
    cosine = min(1.0, abs(float(before[3:] @ after[3:])))
    return shift + 2.0 * math.acos(cosine) * radius_m


def between(first: Vector, second: Vector, share: float) -> Vector:
    """Return the pose at a share of the way from one to another."""
    other = second if float(first[3:] @ second[3:]) >= 0 else second * _FLIP
    mixed = first + share * (other - first)
    mixed[3:] /= np.linalg.norm(mixed[3:])
    return mixed


_FLIP = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0])
