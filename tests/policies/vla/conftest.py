"""A Panda with a wrist camera, somewhere awkward, and a card that has no symmetry."""

import dataclasses

import numpy as np
import pytest

from interlock.operators.rotations import wxyz_from_axis_angle
from interlock.policies.vla.card import letter_card
from interlock.policies.vla.robot import PANDA, Snapshot

AXIS = np.array([1.0, 2.0, 3.0]) / np.sqrt(14.0)
TILTED = wxyz_from_axis_angle(np.deg2rad(30) * AXIS)


@pytest.fixture
def panda():
    return dataclasses.replace(PANDA, cameras=("front", "top", "side", "wrist"))


@pytest.fixture
def snapshot():
    joints = np.array([0.1, -0.3, 0.2, -2.2, -0.1, 2.0, 0.7])
    return Snapshot(
        id=5,
        observed_ns=1_000,
        state={
            "joint_position": joints,
            "joint_velocity": np.zeros(7),
            "commanded_joint_position": joints + 0.2,
            "hand_position": np.array([0.5, -0.1, 0.3]),
            "hand_orientation": TILTED,
            "gripper_width": np.array([0.06]),
        },
        images={name: letter_card() for name in ("front", "top", "side", "wrist")},
        prompt="put the red cup on the tray",
    )
