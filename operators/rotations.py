"""Rotations in the forms that policies use, to and from unit quaternions w, x, y, z.

Every function takes any number of leading dimensions. A quaternion that is not a rotation (length
0, or not finite) raises ValueError instead of giving NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable

Array = NDArray[np.float64]
_SMALL = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Representation:
    """One way to write a rotation.

    Attributes:
        size: How many numbers it takes.
        from_wxyz: Shape (..., 4) to (..., size).
        to_wxyz: Shape (..., size) to (..., 4).
    """

    size: int
    from_wxyz: Callable[[Array], Array]
    to_wxyz: Callable[[Array], Array]


def unit(wxyz: Array) -> Array:
    """Return quaternions of length 1 with w of 0 or more, shape (..., 4).

    Raises:
        ValueError: If one has no direction.
    """
    wxyz = np.asarray(wxyz, np.float64)
    length = np.linalg.norm(wxyz, axis=-1, keepdims=True)
    if not np.all((length > _SMALL) & np.isfinite(length)):
        raise ValueError("a quaternion of length 0, or not finite, is no rotation")
    result: Array = np.where(wxyz[..., :1] < 0, -1.0, 1.0) * wxyz / length
    return result


def multiply(first: Array, second: Array) -> Array:
    """Return the rotation ``second`` followed by ``first``, shape (..., 4)."""
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    aw, av, bw, bv = a[..., :1], a[..., 1:], b[..., :1], b[..., 1:]
    w = aw * bw - np.sum(av * bv, axis=-1, keepdims=True)
    return np.concatenate([w, aw * bv + bw * av + np.cross(av, bv)], axis=-1)


def inverse(wxyz: Array) -> Array:
    """Return the rotations backwards, shape (..., 4)."""
    result: Array = np.asarray(wxyz, np.float64) * np.array([1.0, -1.0, -1.0, -1.0])
    return result


def rotate(wxyz: Array, vector: Array) -> Array:
    """Return vectors turned by rotations, shape (..., 3)."""
    q, v = np.asarray(wxyz, np.float64), np.asarray(vector, np.float64)
    twice = 2.0 * np.cross(q[..., 1:], v)
    turned: Array = v + q[..., :1] * twice + np.cross(q[..., 1:], twice)
    return turned


def axis_angle_from_wxyz(wxyz: Array) -> Array:
    """Return axis times angle, shape (..., 3), in rad; the angle is 0 to pi."""
    q = unit(wxyz)
    sine = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(sine, q[..., :1])
    factor = np.where(sine > _SMALL, angle / np.maximum(sine, _SMALL), 2.0)
    result: Array = factor * q[..., 1:]
    return result


def wxyz_from_axis_angle(axis_angle: Array) -> Array:
    """Return quaternions from axis times angle in rad."""
    v = np.asarray(axis_angle, np.float64)
    angle = np.linalg.norm(v, axis=-1, keepdims=True)
    factor = np.where(angle > _SMALL, np.sin(angle / 2) / np.maximum(angle, _SMALL), 0.5)
    return unit(np.concatenate([np.cos(angle / 2), factor * v], axis=-1))


def matrix_from_wxyz(wxyz: Array) -> Array:
    """Return rotation matrices, shape (..., 3, 3)."""
    q = unit(wxyz)
    columns = [rotate(q, np.broadcast_to(axis, (*q.shape[:-1], 3))) for axis in np.eye(3)]
    return np.stack(columns, axis=-1)


def wxyz_from_matrix(matrix: Array) -> Array:
    """Return quaternions from rotation matrices, shape (..., 3, 3), stable at every angle.

    The four rows below are the quaternion times each of its own parts, four times over; the row
    that belongs to the largest part is the accurate one.
    """
    m = np.asarray(matrix, np.float64)
    xx, yy, zz = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    wx, wy, wz = (
        m[..., 2, 1] - m[..., 1, 2],
        m[..., 0, 2] - m[..., 2, 0],
        m[..., 1, 0] - m[..., 0, 1],
    )
    xy, xz, yz = (
        m[..., 1, 0] + m[..., 0, 1],
        m[..., 0, 2] + m[..., 2, 0],
        m[..., 2, 1] + m[..., 1, 2],
    )
    rows = np.stack(
        [
            np.stack([1 + xx + yy + zz, wx, wy, wz], axis=-1),
            np.stack([wx, 1 + xx - yy - zz, xy, xz], axis=-1),
            np.stack([wy, xy, 1 - xx + yy - zz, yz], axis=-1),
            np.stack([wz, xz, yz, 1 - xx - yy + zz], axis=-1),
        ],
        axis=-2,
    )
    best = np.argmax(np.diagonal(rows, axis1=-2, axis2=-1), axis=-1)
    return unit(np.take_along_axis(rows, best[..., None, None], axis=-2)[..., 0, :])


def rpy_from_wxyz(wxyz: Array) -> Array:
    """Return roll, pitch, yaw about the fixed axes x, y, z in this order, in rad."""
    m = matrix_from_wxyz(wxyz)
    pitch = np.arcsin(np.clip(-m[..., 2, 0], -1.0, 1.0))
    roll = np.arctan2(m[..., 2, 1], m[..., 2, 2])
    yaw = np.arctan2(m[..., 1, 0], m[..., 0, 0])
    return np.stack([roll, pitch, yaw], axis=-1)


def wxyz_from_rpy(rpy: Array) -> Array:
    """Return quaternions from roll, pitch, yaw about the fixed axes x, y, z, in rad."""
    roll, pitch, yaw = (_about(axis, np.asarray(rpy)[..., axis]) for axis in range(3))
    return unit(multiply(yaw, multiply(pitch, roll)))


def euler_xyz_from_wxyz(wxyz: Array) -> Array:
    """Return angles about the axes x, y, z that turn along, in this order, in rad."""
    # Turning about carried axes x, y, z is turning about fixed axes z, y, x.
    m = matrix_from_wxyz(wxyz)
    y = np.arcsin(np.clip(m[..., 0, 2], -1.0, 1.0))
    x = np.arctan2(-m[..., 1, 2], m[..., 2, 2])
    z = np.arctan2(-m[..., 0, 1], m[..., 0, 0])
    return np.stack([x, y, z], axis=-1)


def wxyz_from_euler_xyz(angles: Array) -> Array:
    """Return quaternions from angles about the axes x, y, z that turn along, in rad."""
    x, y, z = (_about(axis, np.asarray(angles)[..., axis]) for axis in range(3))
    return unit(multiply(x, multiply(y, z)))


def rotation_6d_from_wxyz(wxyz: Array) -> Array:
    """Return the first column of the matrix, then the second, shape (..., 6)."""
    m = matrix_from_wxyz(wxyz)
    return np.concatenate([m[..., :, 0], m[..., :, 1]], axis=-1)


def wxyz_from_rotation_6d(columns: Array) -> Array:
    """Return quaternions from two columns, made orthonormal (Gram-Schmidt).

    Raises:
        ValueError: If the columns are zero or parallel.
    """
    a, b = np.asarray(columns, np.float64)[..., :3], np.asarray(columns, np.float64)[..., 3:]
    x = _direction(a)
    y = _direction(b - np.sum(x * b, axis=-1, keepdims=True) * x)
    return wxyz_from_matrix(np.stack([x, y, np.cross(x, y)], axis=-1))


def blend(first: Array, second: Array, share: Array | float) -> Array:
    """Return rotations between two, the shorter way; ``share`` 0 is the first, 1 the second."""
    a, b = unit(first), unit(second)
    step = axis_angle_from_wxyz(multiply(inverse(a), b))
    return unit(multiply(a, wxyz_from_axis_angle(np.asarray(share)[..., None] * step)))


def _about(axis: int, angle: Array) -> Array:
    vector = np.zeros((*np.shape(angle), 3))
    vector[..., axis] = angle
    return wxyz_from_axis_angle(vector)


def _direction(vector: Array) -> Array:
    length = np.linalg.norm(vector, axis=-1, keepdims=True)
    if not np.all((length > _SMALL) & np.isfinite(length)):
        raise ValueError("two columns that are zero or parallel are no rotation")
    direction: Array = vector / length
    return direction


#: Name in presets -> how it is read and written.
REPRESENTATIONS: dict[str, Representation] = {
    "quaternion_wxyz": Representation(size=4, from_wxyz=unit, to_wxyz=unit),
    "quaternion_xyzw": Representation(
        size=4,
        from_wxyz=lambda q: np.roll(unit(q), -1, axis=-1),
        to_wxyz=lambda q: unit(np.roll(q, 1, axis=-1)),
    ),
    "axis_angle": Representation(
        size=3, from_wxyz=axis_angle_from_wxyz, to_wxyz=wxyz_from_axis_angle
    ),
    "roll_pitch_yaw": Representation(size=3, from_wxyz=rpy_from_wxyz, to_wxyz=wxyz_from_rpy),
    "euler_xyz": Representation(size=3, from_wxyz=euler_xyz_from_wxyz, to_wxyz=wxyz_from_euler_xyz),
    "rotation_6d": Representation(
        size=6, from_wxyz=rotation_6d_from_wxyz, to_wxyz=wxyz_from_rotation_6d
    ),
}
