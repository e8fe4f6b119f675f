"""What a robot offers to a model: named state with units, cameras, joints, gripper, rate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Mapping

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class StateSpec:
    """One vector of the state.

    Attributes:
        size: How many numbers.
        unit: Unit of each of them; ``1`` for a rotation.
        kind: A rotation is a quaternion w, x, y, z; a gripper is the width between the fingers.
        names: One name per number; empty when the number is enough.
    """

    size: int
    unit: str
    kind: Literal["vector", "rotation", "gripper"] = "vector"
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RobotContract:
    """A robot as a model could use it.

    Attributes:
        robot: Its name, as presets list it under ``robots``.
        state: What can be read, by name.
        cameras: What can be seen, by name.
        joint_names: The joints of the arm, in order.
        joint_low: Lowest position of each joint, shape (n_joints,), in rad.
        joint_high: Highest position of each joint, shape (n_joints,), in rad.
        joint_speed: Highest speed of each joint, shape (n_joints,), in rad/s.
        gripper_max_m: Width between the fingers when open, in m.
        grippers: How many grippers it has.
        rates_hz: Slowest and fastest control rate.
    """

    robot: str
    state: Mapping[str, StateSpec]
    cameras: tuple[str, ...]
    joint_names: tuple[str, ...]
    joint_low: Array
    joint_high: Array
    joint_speed: Array
    gripper_max_m: float
    grippers: int = 1
    rates_hz: tuple[float, float] = (1.0, 200.0)

    @property
    def joints(self) -> int:
        """How many joints the arm has."""
        return len(self.joint_names)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Snapshot:
    """What the robot was like when a model was asked.

    Attributes:
        id: Number of this observation; a chunk that answers it carries it on.
        observed_ns: When it was so; the oldest of what it holds, in ns.
        state: Vectors by name, as the contract lists them.
        images: Pictures by camera, RGB, shape (h, w, 3), upright, values 0 to 255.
        prompt: The instruction.
    """

    id: int
    observed_ns: int
    state: Mapping[str, Array]
    images: Mapping[str, NDArray[np.uint8]] = field(default_factory=dict)
    prompt: str = ""


_ARM = tuple(f"joint{i}" for i in range(1, 8))

#: State of every arm of ours, from RobotState; sizes of joint vectors are set per robot.
HAND_STATE: dict[str, StateSpec] = {
    "hand_position": StateSpec(size=3, unit="m", names=("x", "y", "z")),
    "hand_orientation": StateSpec(size=4, unit="1", kind="rotation", names=("w", "x", "y", "z")),
    "gripper_width": StateSpec(size=1, unit="m", kind="gripper"),
}

PANDA = RobotContract(
    robot="panda",
    state={
        "joint_position": StateSpec(size=7, unit="rad", names=_ARM),
        "joint_velocity": StateSpec(size=7, unit="rad/s", names=_ARM),
        "commanded_joint_position": StateSpec(size=7, unit="rad", names=_ARM),
        **HAND_STATE,
    },
    cameras=("front", "top", "side", "wrist"),
    joint_names=_ARM,
    joint_low=np.array([-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973]),
    joint_high=np.array([2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973]),
    joint_speed=np.array([2.175, 2.175, 2.175, 2.175, 2.61, 2.61, 2.61]),
    gripper_max_m=0.08,
)
