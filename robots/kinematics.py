"""Kinematics of the Panda: speeds, and joint positions for a pose.

Forward kinematics and the frames are in ``frames``; they are offered here too.
"""

from __future__ import annotations

import math

import numpy as np

from interlock.robots import panda
from interlock.robots.analytic_ik import configurations
from interlock.robots.frames import (
    TOOL_M,
    Frame,
    Matrix,
    floats,
    forward,
    jacobian,
    jacobian_of,
    link_frames,
    quaternion_from_rotation,
    rotation_from_quaternion,
)
from interlock.robots.geometry import Vector, check_pose

__all__ = [
    "fastest_point_speed",
    "forward",
    "inverse",
    "jacobian",
    "link_frames",
    "quaternion_from_rotation",
    "rotation_from_quaternion",
    "tool_speed",
]

POSITION_TOLERANCE_M = 1e-5
ROTATION_TOLERANCE_RAD = 1e-4
_LIMIT_MARGIN_RAD = 1e-4
_MAX_STEP_RAD = 0.5
_STEPS = 16
# Angles of the last joint to look through when the way from the seed is blocked.
_LAST_JOINTS = np.linspace(
    panda.LIMITS.position_low[-1] + 0.01, panda.LIMITS.position_high[-1] - 0.01, 24
)
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


def tool_speed(position: Vector, velocity: Vector) -> float:
    """Return the speed of the tool point, in m/s, from joints in rad and rad/s."""
    return math.hypot(*(jacobian(position)[:3] @ velocity))


def fastest_point_speed(position: Vector, velocity: Vector, *, payload_m: float = 0.0) -> float:
    """Return an upper bound on the speed of any point of the arm and its hand, in m/s.

    No point of a link is faster than its origin plus its turning rate times its reach. Something
    held may reach ``payload_m`` from the tool point.
    """
    last_reach = max(_LINK_REACH_M[-1], _HAND_REACH_M, TOOL_M + payload_m)
    frames = link_frames(position)
    fastest = wx = wy = wz = vx = vy = vz = px = py = pz = 0.0
    for i, rate in enumerate(floats(velocity)):
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

    The result lies within the limits and reaches the pose to 0.01 mm and 0.1 mrad. Damped least
    squares go from the seed; where they get stuck, the closed form is looked through for many
    angles of the last joint and its nearest result to the seed is taken.

    Args:
        world_from_tool: Pose to reach, shape (7,).
        seed: Joint positions to be near to, shape (7,), in rad.

    Raises:
        RobotError: If the pose is not finite or has no unit quaternion.
    """
    check_pose("world_from_tool", world_from_tool)
    target, rotation = world_from_tool[:3], rotation_from_quaternion(world_from_tool[3:])
    low = panda.LIMITS.position_low + _LIMIT_MARGIN_RAD
    high = panda.LIMITS.position_high - _LIMIT_MARGIN_RAD
    start = np.minimum(np.maximum(seed, low), high)
    found = _descend(target, rotation, start, low, high)
    if found is not None:
        return found
    choices = configurations(target, rotation, np.append(_LAST_JOINTS, start[-1]))
    for index in np.argsort(np.abs(choices - start).max(axis=1)):
        polished = _descend(target, rotation, choices[index], low, high)
        if polished is not None:
            return polished
    return None


def _descend(
    target: Vector, rotation: Matrix, start: Vector, low: Vector, high: Vector
) -> Vector | None:
    q = start.copy()
    damping = 1e-3
    frames = link_frames(q)
    error = _error(frames[-1], target, rotation)
    for _ in range(_STEPS):
        if _close(error):
            return q
        matrix = jacobian_of(frames)
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
