"""The contract of the arm of a dataflow: joint targets in; joints, tool, fingers, cameras out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.messages.contract import Contract
from interlock.robots import panda

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from interlock.messages import Image, ObjectPoses, RobotState

    Vector = NDArray[np.float32]

_POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")
_TYPES = {"rgb8": "rgb", "bgr8": "bgr", "mono8": "gray", "mono16": "gray", "32FC1": "depth"}
#: Key on the wire of each vector of the state.
JOINTS, SPEEDS = "observation/joint_position", "observation/joint_velocity"
TOOL, WIDTH = "observation/tool_pose", "observation/gripper_width"


def arm_contract(
    *, rate_hz: float, cameras: Mapping[str, Image], objects: Sequence[str] = ()
) -> Contract:
    """Return the contract of the Panda.

    Args:
        rate_hz: Actions per second.
        cameras: A picture per camera, by its key on the wire.
        objects: Names of the objects whose poses are shown.
    """
    pose = {"state_type": "EE_ABS_POSE", "state_representation": "XYZ_QUATWXYZ", "frame": "world"}
    return Contract.from_json(
        {
            "version": "v0",
            "robot_type": "panda",
            "robot_class": "arm7g1",
            "control_rate": rate_hz,
            "features": {
                **{key: _camera(image) for key, image in cameras.items()},
                JOINTS: _vector(panda.JOINT_NAMES, state_type="JOINT_ABS_POS", units="rad"),
                SPEEDS: _vector(panda.JOINT_NAMES, state_type="JOINT_ABS_VEL"),
                TOOL: _vector(_POSE, **pose),
                WIDTH: _vector(("gripper_width",), state_type="GRIPPER_ABS_POS", units="m"),
                **{object_key(name): _vector((*_POSE, "confidence")) for name in objects},
                "action": _action(),
            },
        },
        where="arm",
    )


def _action() -> dict[str, Any]:
    arm, fingers = panda.LIMITS, panda.GRIPPER_WIDTH_RANGE_M
    names = [*panda.JOINT_NAMES, "gripper_width"]
    return {
        "role": "action",
        "type": "joint_pos",
        "dtype": "float32",
        "shape": [len(names)],
        "names": names,
        "state_type": "JOINT_ABS_POS",
        "state_representation": "REAL",
        "limits": {
            "min": [*arm.position_low.tolist(), fingers[0]],
            "max": [*arm.position_high.tolist(), fingers[1]],
        },
        "comment": "seven joint angles in rad, then the width between the fingers in m",
    }


def object_key(name: str) -> str:
    """Return the key on the wire of an object's pose."""
    return f"observation/object_{name}"


def state_features(state: RobotState) -> dict[str, Vector]:
    """Return the vectors of a robot state by their key on the wire."""
    return {
        JOINTS: state.position.astype(np.float32),
        SPEEDS: state.velocity.astype(np.float32),
        TOOL: state.world_from_tool.astype(np.float32),
        WIDTH: np.array([state.gripper_width_m], np.float32),
    }


def object_features(poses: ObjectPoses) -> dict[str, Vector]:
    """Return pose and confidence of each object by its key on the wire, shape (8,) each."""
    rows = np.column_stack([poses.world_from_object, poses.confidence]).astype(np.float32)
    return {object_key(name): row for name, row in zip(poses.names, rows, strict=True)}


def _camera(image: Image) -> dict[str, Any]:
    shape = image.pixels.shape
    return {
        "role": "observation",
        "type": _TYPES[image.encoding],
        "dtype": str(image.pixels.dtype),
        "shape": list(shape),
        **({"state_representation": "HWC"} if len(shape) == 3 else {}),
    }


def _vector(names: Sequence[str], **more: str) -> dict[str, Any]:
    return {
        "role": "observation",
        "dtype": "float32",
        "shape": [len(names)],
        "names": list(names),
        **more,
    }
