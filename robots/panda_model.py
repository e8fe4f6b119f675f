"""The Panda as MJCF text, built from the numbers of ``panda.py``: no files, no meshes.

Two sets of shapes: ``"body"`` is the slim arm that is drawn and collides in the simulator,
``"envelope"`` the fat one that only the checker sees. Contact values of the pads are measured:
with MuJoCo's defaults (pyramidal cone, impratio 1, solref 0.02) a held cup slides out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple

from interlock.robots import panda

if TYPE_CHECKING:
    from interlock.robots.panda import Box, Capsule

Shapes = Literal["body", "envelope"]

WHITE = "0.92 0.92 0.93 1"
DARK = "0.25 0.25 0.27 1"
BODY_GROUP = 1
ENVELOPE_GROUP = 4
PAD_CONTACT = (
    'friction="1.2 0.02 0.0005" condim="4" solref="0.004 1" solimp="0.95 0.99 0.001" priority="1"'
)
# The tendon is the mean of both fingers, so each pad presses with half of the tendon's force.
GRIP_FORCE_N = 30.0
FINGER_ARMATURE, FINGER_DAMPING = "0.05", "5"
GRIP_KP = 2000.0
GRIP_KV = 60.0


class ArmText(NamedTuple):
    """MJCF fragments of the arm.

    Attributes:
        body: The tree of bodies, for ``<worldbody>``.
        rest: Tendon, equality, contact and actuator sections, for ``<mujoco>``.
    """

    body: str
    rest: str


def arm(shapes: Shapes) -> ArmText:
    """Return the Panda with its hand, base at the world's origin."""
    base = _geoms(0, shapes)
    body = f'<body name="link0" gravcomp="1">{base}{_link(1, shapes)}</body>'
    exclude = "".join(f'<exclude body1="{a}" body2="{b}"/>' for a, b in panda.NEIGHBOURS)
    rest = f"{_gripper_coupling()}<contact>{exclude}</contact>"
    if shapes == "body":
        rest += f"<actuator>{actuators()}</actuator>"
    return ArmText(body, rest)


def _link(index: int, shapes: Shapes) -> str:
    if index > panda.N_JOINTS:
        return _hand(shapes)
    row, link = panda.DH[index - 1], panda.LINKS[index - 1]
    sin, cos = math.sin(row.alpha_rad), math.cos(row.alpha_rad)
    position = _text(row.a_m, -sin * row.d_m, cos * row.d_m)
    turn = _text(math.cos(row.alpha_rad / 2), math.sin(row.alpha_rad / 2), 0, 0)
    low = panda.LIMITS.position_low[index - 1]
    high = panda.LIMITS.position_high[index - 1]
    return (
        f'<body name="link{index}" pos="{position}" quat="{turn}" gravcomp="1">'
        f'<inertial mass="{link.mass_kg}" pos="{_text(*link.center_m)}" '
        f'fullinertia="{_text(*link.inertia_kg_m2)}"/>'
        f'<joint name="joint{index}" range="{low} {high}" armature="0.1" damping="1"/>'
        f"{_geoms(index, shapes)}{_link(index + 1, shapes)}</body>"
    )


def _geoms(link: int, shapes: Shapes) -> str:
    color = DARK if link == panda.N_JOINTS else WHITE
    return "".join(
        _capsule(f"link{link}_{i}", capsule, shapes, color)
        for i, capsule in enumerate(panda.ARM_ENVELOPE[link])
    )


def _hand(shapes: Shapes) -> str:
    half_yaw = panda.HAND_YAW_RAD / 2
    turn = _text(math.cos(half_yaw), 0, 0, math.sin(half_yaw))
    shape = panda.HAND if shapes == "body" else panda.HAND_ENVELOPE
    return (
        f'<body name="hand" pos="0 0 {panda.FLANGE_Z_M}" quat="{turn}" gravcomp="1">'
        '<inertial mass="0.73" pos="-0.01 0 0.03" diaginertia="0.001 0.0025 0.0017"/>'
        f"{_box('hand_0', shape, shapes, WHITE)}"
        f"{hand_fixtures()}{_finger('left', shapes)}{_finger('right', shapes)}</body>"
    )


def _finger(side: Literal["left", "right"], shapes: Shapes) -> str:
    name = f"{side}_finger"
    turn = "1 0 0 0" if side == "left" else "0 0 0 1"
    number = 1 if side == "left" else 2
    if shapes == "body":
        geoms = _box(f"{name}_0", panda.FINGER, shapes, DARK)
        geoms += _box(f"{side}_pad", panda.PAD, shapes, DARK, PAD_CONTACT)
    else:
        geoms = _box(f"{name}_0", panda.FINGER_ENVELOPE, shapes, DARK)
    return (
        f'<body name="{name}" pos="0 0 {panda.FINGER_Z_M}" quat="{turn}" gravcomp="1">'
        '<inertial mass="0.015" pos="0 0.01 0.02" diaginertia="1e-5 1e-5 3e-6"/>'
        f'<joint name="finger_joint{number}" type="slide" axis="0 1 0" '
        f'range="0 {panda.GRIPPER_WIDTH_RANGE_M[1] / 2}" armature="{FINGER_ARMATURE}" '
        f'damping="{FINGER_DAMPING}"/>'
        f"{geoms}</body>"
    )


def _capsule(name: str, shape: Capsule, shapes: Shapes, color: str) -> str:
    radius = shape.radius - (panda.SLIMMER_BY_M if shapes == "body" else 0.0)
    return (
        f'<geom name="{name}" type="capsule" fromto="{_text(*shape.start, *shape.end)}" '
        f'size="{radius:.4f}" rgba="{color}" {_group(shapes)}/>'
    )


def _box(name: str, shape: Box, shapes: Shapes, color: str, extra: str = "") -> str:
    return (
        f'<geom name="{name}" type="box" pos="{_text(*shape.center)}" '
        f'size="{_text(*shape.half)}" rgba="{color}" {_group(shapes)} {extra}/>'
    )


def _group(shapes: Shapes) -> str:
    if shapes == "body":
        return f'group="{BODY_GROUP}"'
    # The checker turns collisions of the envelope on in its own model.
    return f'group="{ENVELOPE_GROUP}" contype="0" conaffinity="0"'


def hand_fixtures() -> str:
    """Return the tool point and the wrist camera, in the frame of the hand."""
    return (
        f'<site name="tcp" pos="0 0 {panda.TCP_Z_M}" size="0.005" group="5"/>'
        '<camera name="wrist" pos="0.07 0 0.02" quat="0 0.70710678 0.70710678 0" fovy="70"/>'
    )


def grip_tendon() -> str:
    """Return the tendon whose length is the mean travel of both fingers."""
    return (
        '<tendon><fixed name="grip"><joint joint="finger_joint1" coef="0.5"/>'
        '<joint joint="finger_joint2" coef="0.5"/></fixed></tendon>'
    )


def _gripper_coupling() -> str:
    return (
        f"{grip_tendon()}"
        '<equality><joint joint1="finger_joint1" joint2="finger_joint2" '
        'solimp="0.95 0.99 0.001" solref="0.005 1"/></equality>'
    )


def actuators() -> str:
    """Return the joint servos, with position and velocity as inputs, and the gripper's."""
    joints = "".join(
        f'<pid name="servo{i + 1}" joint="joint{i + 1}" input="pos vel" kp="{panda.SERVO_KP[i]}" '
        f'kv="{panda.SERVO_KV[i]}" forcerange="{-torque} {torque}"/>'
        for i, torque in enumerate(panda.TORQUE_LIMIT_NM)
    )
    force = 2 * GRIP_FORCE_N
    return (
        f'{joints}<position name="grip" tendon="grip" kp="{GRIP_KP}" kv="{GRIP_KV}" '
        f'ctrlrange="0 {panda.GRIPPER_WIDTH_RANGE_M[1] / 2}" forcerange="{-force} {force}"/>'
    )


def _text(*numbers: float) -> str:
    return " ".join(f"{number:.17g}" for number in numbers)
