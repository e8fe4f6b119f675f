"""The Franka Panda (FER) in numbers: kinematics, limits, link dynamics and shapes.

Sources. Denavit-Hartenberg parameters (Craig's convention) and limits: Franka's published FCI
documentation of the Panda. Link masses, centres and inertias: the feasible set identified by
Gaz, Cognetti, Oliva, Robuffo Giordano and De Luca, "Dynamic Identification of the Franka Emika
Panda Robot With Retrieval of Feasible Parameters Using Penalty-Based Optimization", IEEE RA-L
2019. Envelope capsules: fitted by us so that they enclose the collision meshes published with the
robot's description to within 0.6 mm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from interlock.robots.geometry import JointLimits, Vector

N_JOINTS = 7
JOINT_NAMES = tuple(f"joint{i}" for i in range(1, N_JOINTS + 1))


class DhRow(NamedTuple):
    """One row: turn alpha about x, move a along x, turn the joint about z, move d along z."""

    a_m: float
    d_m: float
    alpha_rad: float


DH = (
    DhRow(0.0, 0.333, 0.0),
    DhRow(0.0, 0.0, -math.pi / 2),
    DhRow(0.0, 0.316, math.pi / 2),
    DhRow(0.0825, 0.0, math.pi / 2),
    DhRow(-0.0825, 0.384, -math.pi / 2),
    DhRow(0.0, 0.0, math.pi / 2),
    DhRow(0.088, 0.0, math.pi / 2),
)
FLANGE_Z_M = 0.107
HAND_YAW_RAD = -math.pi / 4
TCP_Z_M = 0.1034
FINGER_Z_M = 0.0584

LIMITS = JointLimits(
    position_low=np.array([-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973]),
    position_high=np.array([2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973]),
    velocity=np.array([2.175, 2.175, 2.175, 2.175, 2.61, 2.61, 2.61]),
    acceleration=np.array([15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0]),
    jerk=np.array([7500.0, 3750.0, 5000.0, 6250.0, 7500.0, 10000.0, 10000.0]),
)
TORQUE_LIMIT_NM = (87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0)
GRIPPER_WIDTH_RANGE_M = (0.0, 0.08)
GRIPPER_FORCE_RANGE_N = (0.0, 70.0)
HOME: Vector = np.array([0.0, -0.3, 0.0, -2.2, 0.0, 2.0, math.pi / 4])

# Stiffness of the joint servo, in Nm/rad, and damping, in Nm s/rad, as in common use with this
# arm. With the velocity as a second input the arm lags its command by 2.4 mrad at half speed.
SERVO_KP = (4500.0, 4500.0, 3500.0, 3500.0, 2000.0, 2000.0, 2000.0)
SERVO_KV = tuple(kp / 10 for kp in SERVO_KP)


class LinkDynamics(NamedTuple):
    """Mass, in kg; centre of mass, in m; inertia xx yy zz xy xz yz about it, in kg m^2."""

    mass_kg: float
    center_m: tuple[float, float, float]
    inertia_kg_m2: tuple[float, float, float, float, float, float]


LINKS = (
    LinkDynamics(
        4.970684,
        (0.003875, 0.002081, -0.04762),
        (0.70337, 0.70661, 0.009117, -0.000139, 0.006772, 0.019169),
    ),
    LinkDynamics(
        0.646926,
        (-0.003141, -0.02872, 0.003495),
        (0.007962, 0.02811, 0.025995, -0.003925, 0.010254, 0.000704),
    ),
    LinkDynamics(
        3.228604,
        (0.027518, 0.039252, -0.066502),
        (0.037242, 0.036155, 0.01083, -0.004761, -0.011396, -0.012805),
    ),
    LinkDynamics(
        3.587895,
        (-0.05317, 0.104419, 0.027454),
        (0.025853, 0.019552, 0.028323, 0.007796, -0.001332, 0.008641),
    ),
    LinkDynamics(
        1.225946,
        (-0.011953, 0.041065, -0.038437),
        (0.035549, 0.029474, 0.008627, -0.002117, -0.004037, 0.000229),
    ),
    LinkDynamics(
        1.666555,
        (0.060149, -0.014117, -0.010517),
        (0.001964, 0.004354, 0.005433, 0.000109, -0.001158, 0.000341),
    ),
    LinkDynamics(
        0.735522,
        (0.010517, -0.004252, 0.061597),
        (0.012516, 0.010027, 0.004815, -0.000428, -0.001196, -0.000741),
    ),
)


@dataclass(frozen=True, slots=True)
class Capsule:
    """A capsule in the frame of its link: ends of its axis and radius, in m."""

    start: tuple[float, float, float]
    end: tuple[float, float, float]
    radius: float


@dataclass(frozen=True, slots=True)
class Box:
    """A box in the frame of its link: centre and half sizes, in m."""

    center: tuple[float, float, float]
    half: tuple[float, float, float]


# The safety envelope of link 0 (base) to link 7, index by link.
ARM_ENVELOPE = (
    (
        Capsule((-0.097, 0.0, 0.047), (0.002, -0.026, 0.0645), 0.1),
        Capsule((0.006, 0.053, 0.065), (0.029, 0.035, 0.071), 0.088),
    ),
    (
        Capsule((0.0, 0.0, -0.165), (0.0, -0.018, -0.006), 0.065),
        Capsule((0.0, -0.079, 0.001), (-0.0045, -0.066, -0.031), 0.061),
    ),
    (
        Capsule((0.0, -0.165, -0.001), (0.0, -0.003, 0.026), 0.064),
        Capsule((0.0, -0.018, 0.075), (0.0, 0.002, 0.078), 0.059),
    ),
    (
        Capsule((0.008, 0.001, -0.068), (0.0, 0.0, -0.084), 0.068),
        Capsule((0.082, 0.026, 0.0), (0.074, 0.063, -0.004), 0.064),
    ),
    (
        Capsule((-0.083, 0.08, 0.0), (-0.062, 0.0675, 0.007), 0.075),
        Capsule((-0.0105, -0.002, 0.05), (0.008, 0.0, 0.046), 0.072),
    ),
    (
        Capsule((0.001, 0.058, 0.0145), (-0.004, 0.1, -0.017), 0.076),
        Capsule((-0.001, 0.068, -0.167), (-0.006, 0.0885, -0.127), 0.061),
        Capsule((0.0, 0.016, -0.2145), (0.0, -0.002, -0.234), 0.078),
    ),
    (
        Capsule((0.087, -0.021, 0.0), (0.0755, 0.0465, 0.002), 0.055),
        Capsule((0.023, 0.005, 0.013), (-0.003, 0.005, 0.005), 0.057),
    ),
    (
        Capsule((0.031, 0.032, 0.079), (0.0305, 0.015, 0.078), 0.058),
        Capsule((-0.008, -0.011, 0.077), (-0.0125, 0.0, 0.077), 0.049),
    ),
)
HAND_ENVELOPE = Box((0.0, -0.002, 0.02), (0.032, 0.103, 0.0465))
# A finger and its pad, in the frame of the finger, y pointing away from the other finger.
FINGER = Box((0.0, 0.0145, 0.018), (0.0095, 0.007, 0.018))
PAD = Box((0.0, 0.0075, 0.0445), (0.0085, 0.0075, 0.0095))
FINGER_ENVELOPE = Box((0.0, 0.0108, 0.027), (0.0105, 0.0117, 0.028))
HAND = Box((0.0, 0.0, 0.033), (0.029, 0.1, 0.032))

# What the arm looks like and collides with in the simulator is slimmer than its envelope.
SLIMMER_BY_M = 0.012
# Links that always touch or whose envelopes overlap at every position: not self-collisions.
NEIGHBOURS = (
    ("link0", "link1"), ("link0", "link2"), ("link1", "link2"), ("link1", "link3"),
    ("link2", "link3"), ("link2", "link4"), ("link3", "link4"), ("link3", "link5"),
    ("link4", "link5"), ("link4", "link6"), ("link5", "link6"), ("link5", "link7"),
    ("link5", "hand"), ("link6", "link7"), ("link6", "hand"), ("link7", "hand"),
    ("link6", "left_finger"), ("link6", "right_finger"), ("link7", "left_finger"),
    ("link7", "right_finger"), ("hand", "left_finger"), ("hand", "right_finger"),
    ("left_finger", "right_finger"),
)  # fmt: skip
