"""Frames of the Panda's links from its Denavit-Hartenberg rows, without a simulator.

Poses are shape (7,): x, y, z in m, then a quaternion w, x, y, z. The tool frame is the point
between the finger tips, z pointing away from the hand, y along the closing direction.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from interlock.robots import panda

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlock.robots.geometry import Vector

Matrix = NDArray[np.float64]
Frame = tuple[float, ...]

TOOL_M = panda.FLANGE_Z_M + panda.TCP_Z_M
_TURNS = tuple((math.cos(row.alpha_rad), math.sin(row.alpha_rad)) for row in panda.DH)
_YAW = (math.cos(panda.HAND_YAW_RAD), math.sin(panda.HAND_YAW_RAD))
_IDENTITY: Frame = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)


def link_frames(position: Sequence[float] | Vector) -> list[Frame]:
    """Return world_from_link of link 1 to 7 and of the tool.

    Args:
        position: Joint positions, shape (7,), in rad.

    Returns:
        Eight frames: the rotation row by row (9 numbers), then the origin (3), in m.
    """
    frames: list[Frame] = []
    r00, r01, r02, r10, r11, r12, r20, r21, r22, x, y, z = _IDENTITY
    for row, (ca, sa), angle in zip(panda.DH, _TURNS, floats(position), strict=True):
        ct, st = math.cos(angle), math.sin(angle)
        a, d = row.a_m, row.d_m
        x += r00 * a + (ca * r02 - sa * r01) * d
        y += r10 * a + (ca * r12 - sa * r11) * d
        z += r20 * a + (ca * r22 - sa * r21) * d
        # Rotate about x by alpha, then about the new z by the joint's angle.
        b0, b1, b2 = ca * r01 + sa * r02, ca * r11 + sa * r12, ca * r21 + sa * r22
        r02, r12, r22 = ca * r02 - sa * r01, ca * r12 - sa * r11, ca * r22 - sa * r21
        r00, r01 = ct * r00 + st * b0, ct * b0 - st * r00
        r10, r11 = ct * r10 + st * b1, ct * b1 - st * r10
        r20, r21 = ct * r20 + st * b2, ct * b2 - st * r20
        frames.append((r00, r01, r02, r10, r11, r12, r20, r21, r22, x, y, z))
    cy, sy = _YAW
    x, y, z = x + r02 * TOOL_M, y + r12 * TOOL_M, z + r22 * TOOL_M
    r00, r01 = cy * r00 + sy * r01, cy * r01 - sy * r00
    r10, r11 = cy * r10 + sy * r11, cy * r11 - sy * r10
    r20, r21 = cy * r20 + sy * r21, cy * r21 - sy * r20
    frames.append((r00, r01, r02, r10, r11, r12, r20, r21, r22, x, y, z))
    return frames


def forward(position: Sequence[float] | Vector) -> Vector:
    """Return world_from_tool, shape (7,), for joint positions of shape (7,), in rad."""
    frame = link_frames(position)[-1]
    return np.array([*frame[9:], *quaternion_from_rotation(frame)])


def quaternion_from_rotation(r: Sequence[float]) -> tuple[float, float, float, float]:
    """Return w, x, y, z (w >= 0) of a rotation given row by row (9 numbers)."""
    squares = (
        1 + r[0] + r[4] + r[8],
        1 + r[0] - r[4] - r[8],
        1 - r[0] + r[4] - r[8],
        1 - r[0] - r[4] + r[8],
    )
    largest = max(range(4), key=squares.__getitem__)
    k = 2.0 * math.sqrt(squares[largest])
    if largest == 0:
        q = (k / 4, (r[7] - r[5]) / k, (r[2] - r[6]) / k, (r[3] - r[1]) / k)
    elif largest == 1:
        q = ((r[7] - r[5]) / k, k / 4, (r[1] + r[3]) / k, (r[2] + r[6]) / k)
    elif largest == 2:
        q = ((r[2] - r[6]) / k, (r[1] + r[3]) / k, k / 4, (r[5] + r[7]) / k)
    else:
        q = ((r[3] - r[1]) / k, (r[2] + r[6]) / k, (r[5] + r[7]) / k, k / 4)
    return q if q[0] >= 0 else (-q[0], -q[1], -q[2], -q[3])


def rotation_from_quaternion(quaternion: Sequence[float] | Vector) -> Matrix:
    """Return the rotation, shape (3, 3), of a quaternion w, x, y, z of any length but zero."""
    w, x, y, z = (float(v) for v in quaternion)
    s = 2.0 / (w * w + x * x + y * y + z * z)
    return np.array(
        [
            [1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)],
            [s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x)],
            [s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y)],
        ]
    )


def jacobian(position: Sequence[float] | Vector) -> Matrix:
    """Return the tool's Jacobian in the world, shape (6, 7): rows m/rad, then rad/rad."""
    return jacobian_of(link_frames(position))


def jacobian_of(frames: Sequence[Frame]) -> Matrix:
    """Return the tool's Jacobian from the frames of ``link_frames``."""
    tx, ty, tz = frames[-1][9:]
    columns = []
    for frame in frames[:-1]:
        ax, ay, az = frame[2], frame[5], frame[8]
        dx, dy, dz = tx - frame[9], ty - frame[10], tz - frame[11]
        columns.append((ay * dz - az * dy, az * dx - ax * dz, ax * dy - ay * dx, ax, ay, az))
    return np.array(columns).T


def floats(values: Sequence[float] | Vector) -> Sequence[float]:
    """Return plain floats, with which short sums are faster than with arrays."""
    return values.tolist() if isinstance(values, np.ndarray) else values
