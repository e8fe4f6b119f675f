"""Every configuration of the Panda that reaches a pose, in closed form for given last joints.

With the angle of joint 7 fixed, frame 6 is known and so is the wrist, the point where axes 5 and 6
meet. Shoulder, elbow (frame 4) and wrist form a triangle of known sides in the plane square to
axis 4; axis 5 lies in that plane and is square to axis 6. Both leave two choices each, and the
shoulder two more: up to eight configurations for each angle. All angles are solved at once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from interlock.robots import panda
from interlock.robots.frames import TOOL_M

if TYPE_CHECKING:
    from interlock.robots.geometry import Vector

_SHOULDER = np.array([0.0, 0.0, panda.DH[0].d_m])
_UPPER_M, _ELBOW_M, _FORE_M = panda.DH[2].d_m, panda.DH[3].a_m, panda.DH[4].d_m
_WRIST_M = panda.DH[6].a_m
_UPPER_SIDE_M = math.hypot(_UPPER_M, _ELBOW_M)
_FORE_SIDE_M = math.hypot(_FORE_M, _ELBOW_M)
_FORE_ANGLE = math.atan2(_ELBOW_M, _FORE_M)
_TINY = 1e-12
_QUARTER = np.array([[1.0, 0, 0], [0, 0, -1.0], [0, 1.0, 0]])  # a quarter turn about x


def configurations(position: Vector, rotation: Vector, last_joint: Vector) -> Vector:
    """Return the configurations within the limits that reach a tool pose.

    Args:
        position: Position of the tool in the world, shape (3,), in m.
        rotation: world_from_tool as a matrix, shape (3, 3).
        last_joint: Angles of joint 7 to try, shape (m,), in rad.

    Returns:
        Joint positions, shape (k, 7), in rad; k may be 0.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        frame7 = rotation @ _turn_z(np.array([-panda.HAND_YAW_RAD]))[0]
        frame6 = frame7 @ _turn_z(-last_joint) @ _QUARTER.T
        wrist = position - TOOL_M * frame7[:, 2] - _WRIST_M * frame6[:, :, 0]
        frame4, frame6, last = _elbows(frame6, wrist, last_joint)
        found = _angles(frame4, frame6, last, np.repeat(wrist, 4, axis=0))
    low, high = panda.LIMITS.position_low, panda.LIMITS.position_high
    # An angle may be written a turn lower or higher.
    found = np.where(found < low, found + 2 * np.pi, found)
    found = np.where(found > high, found - 2 * np.pi, found)
    return found[((found >= low) & (found <= high)).all(axis=1)]


def _elbows(frame6: Vector, wrist: Vector, last: Vector) -> tuple[Vector, Vector, Vector]:
    """Return frame 4 of the four elbows of each angle, with frame 6 and the angle repeated."""
    to_shoulder = _SHOULDER - wrist
    far = np.linalg.norm(to_shoulder, axis=1)
    toward = to_shoulder / far[:, None]
    side = (_FORE_SIDE_M**2 + far**2 - _UPPER_SIDE_M**2) / (2 * far * _FORE_SIDE_M)
    opening = np.arccos(side)
    frames = []
    across = np.einsum("mi,mij->mj", toward, frame6)[:, :2]
    across_length = np.hypot(across[:, 0], across[:, 1])
    heading = np.arctan2(across[:, 1], across[:, 0])
    for angle in (_FORE_ANGLE + opening, _FORE_ANGLE - opening):
        # Axis 5, square to axis 6, meets the way to the shoulder at this angle.
        spread = np.arccos(-np.cos(angle) / across_length)
        for axis_heading in (heading + spread, heading - spread):
            in_frame6 = np.stack(
                [np.cos(axis_heading), np.sin(axis_heading), np.zeros_like(heading)], axis=1
            )
            axis5 = np.einsum("mij,mj->mi", frame6, in_frame6)
            outward = toward + np.cos(angle)[:, None] * axis5
            x4 = outward / (np.sin(angle)[:, None] + _TINY)
            frames.append(np.stack([x4, axis5, np.cross(x4, axis5)], axis=2))
    stacked = np.stack(frames, axis=1).reshape(-1, 3, 3)
    return stacked, np.repeat(frame6, 4, axis=0), np.repeat(last, 4)


def _angles(frame4: Vector, frame6: Vector, last: Vector, wrist: Vector) -> Vector:
    """Return all joints, shape (2 m, 7), with the shoulder on either side."""
    elbow = wrist + _ELBOW_M * frame4[:, :, 0] - _FORE_M * frame4[:, :, 1]
    u = np.einsum("mij,mi->mj", frame4, elbow - _SHOULDER)
    q4 = np.arctan2(
        _UPPER_M * u[:, 0] - _ELBOW_M * u[:, 1], _ELBOW_M * u[:, 0] + _UPPER_M * u[:, 1]
    )
    frame3 = frame4 @ _turn_z(-q4) @ _QUARTER.T
    folded = np.einsum("mji,mjk->mik", frame4 @ _QUARTER.T, frame6)
    q5 = np.arctan2(folded[:, 0, 2], -folded[:, 1, 2])
    q6 = np.arctan2(folded[:, 2, 0], folded[:, 2, 1])
    upper = frame3[:, :, 2]
    both = []
    for flip in (1.0, -1.0):
        q2 = flip * np.arccos(np.clip(upper[:, 2], -1.0, 1.0))
        q1 = np.arctan2(flip * upper[:, 1], flip * upper[:, 0])
        frame2 = _turn_z(q1) @ _QUARTER.T @ _turn_z(q2) @ _QUARTER
        turned = np.einsum("mji,mjk->mik", frame2, frame3)
        q3 = np.arctan2(turned[:, 1, 0], turned[:, 0, 0])
        both.append(np.stack([q1, q2, q3, q4, q5, q6, last], axis=1))
    return np.concatenate(both)


def _turn_z(angle: Vector) -> Vector:
    turn = np.zeros((len(angle), 3, 3))
    turn[:, 0, 0] = turn[:, 1, 1] = np.cos(angle)
    turn[:, 1, 0] = np.sin(angle)
    turn[:, 0, 1] = -turn[:, 1, 0]
    turn[:, 2, 2] = 1.0
    return turn
