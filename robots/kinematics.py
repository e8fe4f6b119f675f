"""Kinematics of the Panda from its Denavit-Hartenberg rows, without a simulator.

Poses are shape (7,): x, y, z in m, then a quaternion w, x, y, z. The tool frame is the point
between the finger tips, z pointing away from the hand, y along the closing direction.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from interlock.robots import panda
from interlock.robots.geometry import Vector, check_pose

if TYPE_CHECKING:
    from collections.abc import Sequence

Matrix = NDArray[np.float64]
Frame = tuple[float, ...]

POSITION_TOLERANCE_M = 1e-5
ROTATION_TOLERANCE_RAD = 1e-4
_LIMIT_MARGIN_RAD = 1e-4
_MAX_STEP_RAD = 0.5
_STEPS_PER_START = 16
# Elbow left and right, wrist turned: other starts when the way from the seed is blocked.
_START_OFFSETS = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [-0.8, 0.5, 0.8, 0.4, 1.2, 0.5, -1.5],
        [0.8, 0.5, -0.8, 0.4, -1.2, 0.5, 1.0],
        [0.0, -0.6, 0.0, 0.6, -2.0, -1.0, 0.0],
    ]
)
_TURNS = tuple((math.cos(row.alpha_rad), math.sin(row.alpha_rad)) for row in panda.DH)
_YAW = (math.cos(panda.HAND_YAW_RAD), math.sin(panda.HAND_YAW_RAD))
_TOOL_M = panda.FLANGE_Z_M + panda.TCP_Z_M
_IDENTITY: Frame = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
# Farthest point of each link's envelope from the origin of that link, in m; the last one counts
# the hand and its open fingers.
_LINK_REACH_M = tuple(
    max(
        max(math.dist((0, 0, 0), capsule.start), math.dist((0, 0, 0), capsule.end)) + capsule.radius
        for capsule in capsules
    )
    for capsules in panda.ARM_ENVELOPE[1:]
)
_HAND_REACH_M = max(
    math.hypot(0.0325, 0.106, panda.FLANGE_Z_M + 0.067),
    math.hypot(0.011, 0.064, panda.FLANGE_Z_M + panda.FINGER_Z_M + 0.056),
)


def link_frames(position: Sequence[float] | Vector) -> list[Frame]:
    """Return world_from_link of link 1 to 7 and of the tool.

    Args:
        position: Joint positions, shape (7,), in rad.

    Returns:
        Eight frames: the rotation row by row (9 numbers), then the origin (3), in m.
    """
    frames: list[Frame] = []
    r00, r01, r02, r10, r11, r12, r20, r21, r22, x, y, z = _IDENTITY
    for row, (ca, sa), angle in zip(panda.DH, _TURNS, _floats(position), strict=True):
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
    x, y, z = x + r02 * _TOOL_M, y + r12 * _TOOL_M, z + r22 * _TOOL_M
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
    return _jacobian(link_frames(position))


def tool_speed(position: Vector, velocity: Vector) -> float:
    """Return the speed of the tool point, in m/s, from joints in rad and rad/s."""
    return math.hypot(*(jacobian(position)[:3] @ velocity))


def fastest_point_speed(position: Vector, velocity: Vector, *, payload_m: float = 0.0) -> float:
    """Return an upper bound on the speed of any point of the arm and its hand, in m/s.

    No point of a link is faster than its origin plus its turning rate times its reach. Something
    held may reach ``payload_m`` from the tool point.
    """
    last_reach = max(_LINK_REACH_M[-1], _HAND_REACH_M, _TOOL_M + payload_m)
    frames = link_frames(position)
    fastest = wx = wy = wz = vx = vy = vz = px = py = pz = 0.0
    for i, rate in enumerate(_floats(velocity)):
        frame = frames[i]
        x, y, z = frame[9:]
        dx, dy, dz = x - px, y - py, z - pz
        vx, vy, vz = vx + wy * dz - wz * dy, vy + wz * dx - wx * dz, vz + wx * dy - wy * dx
        wx, wy, wz = wx + frame[2] * rate, wy + frame[5] * rate, wz + frame[8] * rate
        px, py, pz = x, y, z
        reach = last_reach if i == panda.N_JOINTS - 1 else _LINK_REACH_M[i]
        speed = math.hypot(vx, vy, vz) + math.hypot(wx, wy, wz) * reach
        fastest = speed if not speed <= fastest else fastest
    return fastest


def inverse(world_from_tool: Vector, seed: Vector) -> Vector | None:
    """Return joint positions that reach a pose, near ``seed``, or None.

    The result lies within the limits and reaches the pose to 0.01 mm and 0.1 mrad. None means
    that damped least squares found none from ``seed`` nor from a few other starts.

    Args:
        world_from_tool: Pose to reach, shape (7,).
        seed: Joint positions to start from, shape (7,), in rad.

    Raises:
        RobotError: If the pose is not finite or has no unit quaternion.
    """
    check_pose("world_from_tool", world_from_tool)
    rotation = rotation_from_quaternion(world_from_tool[3:])
    low = panda.LIMITS.position_low + _LIMIT_MARGIN_RAD
    high = panda.LIMITS.position_high - _LIMIT_MARGIN_RAD
    for start in _starts(world_from_tool, seed):
        found = _descend(world_from_tool[:3], rotation, np.clip(start, low, high), low, high)
        if found is not None:
            return found
    return None


def _starts(world_from_tool: Vector, seed: Vector) -> Sequence[Vector]:
    turned = panda.HOME.copy()
    turned[0] = math.atan2(world_from_tool[1], world_from_tool[0])
    return seed, *(turned + offset for offset in _START_OFFSETS)


def _descend(
    target: Vector, rotation: Matrix, start: Vector, low: Vector, high: Vector
) -> Vector | None:
    q = start.copy()
    damping = 1e-3
    frames = link_frames(q)
    error = _error(frames[-1], target, rotation)
    for _ in range(_STEPS_PER_START):
        if _close(error):
            return q
        matrix = _jacobian(frames)
        normal = matrix @ matrix.T
        normal.flat[::7] += damping
        step = matrix.T @ np.linalg.solve(normal, error)
        longest = float(np.abs(step).max())
        if longest > _MAX_STEP_RAD:
            step *= _MAX_STEP_RAD / longest
        trial = np.minimum(np.maximum(q + step, low), high)
        trial_frames = link_frames(trial)
        trial_error = _error(trial_frames[-1], target, rotation)
        if trial_error @ trial_error < error @ error:
            q, frames, error, damping = trial, trial_frames, trial_error, damping * 0.1
        else:
            damping = max(damping, 1e-9) * 30.0
            if damping > 1e3:
                return None
    return q if _close(error) else None


def _close(error: Vector) -> bool:
    return (
        math.hypot(*error[:3]) <= POSITION_TOLERANCE_M
        and math.hypot(*error[3:]) <= ROTATION_TOLERANCE_RAD
    )


def _error(frame: Frame, target: Vector, rotation: Matrix) -> Vector:
    """Return the twist from a frame to the target: m, then the rotation vector in rad."""
    now = np.array(frame[:9]).reshape(3, 3)
    w, x, y, z = quaternion_from_rotation((rotation @ now.T).ravel().tolist())
    sine = math.sqrt(x * x + y * y + z * z)
    scale = 2.0 * math.atan2(sine, w) / sine if sine > 1e-12 else 2.0
    away = target - frame[9:]
    return np.array([*away, scale * x, scale * y, scale * z])


def _jacobian(frames: Sequence[Frame]) -> Matrix:
    tx, ty, tz = frames[-1][9:]
    columns = []
    for frame in frames[:-1]:
        ax, ay, az = frame[2], frame[5], frame[8]
        dx, dy, dz = tx - frame[9], ty - frame[10], tz - frame[11]
        columns.append((ay * dz - az * dy, az * dx - ax * dz, ax * dy - ay * dx, ax, ay, az))
    return np.array(columns).T


def _floats(values: Sequence[float] | Vector) -> Sequence[float]:
    return values.tolist() if isinstance(values, np.ndarray) else values
