"""Joints of a ROS 2 arm: its messages as Arrow structs, and when set-points may be sent to it.

dora's ROS 2 bridge nodes turn each ROS message into an Arrow struct of one row and back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from interlock.messages import MessageError
from interlock.robots import kinematics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from interlock.messages import RobotState

    Vector = NDArray[np.float64]

#: The tool is at rest below this speed, in m/s.
_REST_SPEED_MPS = 0.005
_DIMENSION = pa.struct([("label", pa.string()), ("size", pa.uint32()), ("stride", pa.uint32())])
_LAYOUT = pa.struct([("dim", pa.list_(_DIMENSION)), ("data_offset", pa.uint32())])
#: std_msgs/Float64MultiArray, as forward_position_controller takes it.
COMMANDS = pa.struct([("layout", _LAYOUT), ("data", pa.list_(pa.float64()))])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measured:
    """What the arm says of itself.

    Attributes:
        position: Shape (n_joints,), in rad.
        velocity: Shape (n_joints,), in rad/s.
        width_m: Distance between the fingers, in m; None when the arm does not say.
    """

    position: Vector
    velocity: Vector
    width_m: float | None


def read_joint_state(
    array: pa.Array, *, joints: Sequence[str], fingers: Sequence[str] = ()
) -> Measured | None:
    """Return joints in our order from a sensor_msgs/JointState; None if it is of another device.

    Raises:
        MessageError: If it is no JointState, lacks some of the joints, or holds NaN.
    """
    if not isinstance(array, pa.StructArray) or len(array) != 1:
        raise MessageError(f"joint_states: expected a struct of one row, got {array.type}")
    row: dict[str, Any] = array[0].as_py()
    names = list(row.get("name") or ())
    missing = [joint for joint in joints if joint not in names]
    if len(missing) == len(joints):
        return None
    if missing:
        raise MessageError(f"joint_states: no joint {', '.join(missing)}; there are {names}")
    position = _picked(row, "position", names, joints)
    velocity = _picked(row, "velocity", names, joints)
    known = [f for f in fingers if f in names]
    width = float(_picked(row, "position", names, known).sum()) if known else None
    return Measured(position=position, velocity=velocity, width_m=width)


def _picked(
    row: dict[str, Any], column: str, names: Sequence[str], wanted: Sequence[str]
) -> Vector:
    values = row.get(column)
    if not values and column == "velocity":
        return np.zeros(len(wanted))
    if values is None or len(values) != len(names):
        raise MessageError(f"joint_states: {len(values or ())} of {column} for {len(names)} names")
    found = np.array([values[names.index(name)] for name in wanted], np.float64)
    if not np.isfinite(found).all():
        raise MessageError(f"joint_states: {column} holds NaN or infinity")
    return found


def joint_command(position: Vector) -> pa.Array:
    """Return joint positions, in rad, as a std_msgs/Float64MultiArray."""
    row = {"layout": {"dim": [], "data_offset": 0}, "data": position.tolist()}
    return pa.array([row], COMMANDS)


def joined(told: RobotState, measured: Measured) -> RobotState:
    """Return the state of the arm: what the driver told it, and what it measures."""
    speed_mps = kinematics.tool_speed(measured.position, measured.velocity)
    width = told.gripper_width_m if measured.width_m is None else measured.width_m
    return replace(
        told,
        position=measured.position,
        velocity=measured.velocity,
        world_from_tool=kinematics.forward(measured.position),
        tool_speed_mps=speed_mps,
        gripper_width_m=width,
        at_rest=told.at_rest and speed_mps <= _REST_SPEED_MPS,
    )


class Hold:
    """Keeps set-points from the arm while they are not where the arm is.

    Args:
        limit_rad: Largest distance of any joint from its set-point, in rad.
    """

    def __init__(self, limit_rad: float) -> None:
        self._limit_rad = limit_rad

    def why_not(self, told: Vector, measured: Measured | None) -> str:
        """Return why a set-point may not be sent, or nothing."""
        if measured is None:
            return "the arm has not said where it is"
        apart = np.abs(told - measured.position)
        joint = int(np.argmax(apart))
        if apart.max() <= self._limit_rad:
            return ""
        return (
            f"joint {joint + 1} is at {measured.position[joint]:.3f} rad, its set-point is "
            f"{told[joint]:.3f}, limit {self._limit_rad:g} apart; move the arm to START"
        )
