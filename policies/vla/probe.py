"""Tries every column of an action a little and compares what moved with what the preset says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from interlock.operators.rotations import REPRESENTATIONS, inverse, multiply
from interlock.policies.vla.action import ActionDecoder
from interlock.policies.vla.transforms import GripperConvention, unit_factor

if TYPE_CHECKING:
    from interlock.policies.vla.preset import ActionPart, Preset
    from interlock.policies.vla.robot import RobotContract, Snapshot

Array = NDArray[np.float64]

#: How far one column is moved: rad or m. Large against the servo's error, small against the room.
_STEP = 0.03
_IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])


class ProbeArm(Protocol):
    """A simulated arm that goes somewhere and says where it is."""

    def go(self, target: Array, space: str) -> Snapshot | None:
        """Go to one decoded row and come to rest; None if it can't be reached."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What one column did.

    Attributes:
        column: Which column of the model's action.
        target: What the preset says it moves.
        expected: Axis, sign and size by the preset.
        measured: Axis, sign and size as measured.
        agrees: Whether they are the same within 20 %.
    """

    column: int
    target: str
    expected: str
    measured: str
    agrees: bool


def probe(preset: Preset, robot: RobotContract, start: Snapshot, arm: ProbeArm) -> list[Probe]:
    """Try every column that moves something; returns to the start before each."""
    decoder = ActionDecoder(preset, robot)
    neutral = _neutral_row(preset, start, robot)
    home = decoder.decode(neutral[np.newaxis], start).rows[0]
    found = []
    for part in preset.action.parts:
        for place, column in enumerate(part.index):
            if part.target == "ignored":
                continue
            arm.go(home, decoder.space)
            row = neutral.copy()
            row[column] += _raw_step(part, place, robot, preset.action.rate_hz)
            target = decoder.decode(row[np.newaxis], start).rows[0]
            reached = arm.go(target, decoder.space)
            found.append(_compare(part, column, home, target, reached, decoder.space))
    return found


def _neutral_row(preset: Preset, start: Snapshot, robot: RobotContract) -> Array:
    """Return an action that asks for what there is."""
    row = np.zeros(preset.action.width)
    for part in preset.action.parts:
        affine = part.affine()
        offset, slope = affine(np.zeros(len(part.index))), affine(np.ones(len(part.index)))
        row[list(part.index)] = (_neutral(part, start, robot) - offset) / (slope - offset)
    return row


def _neutral(part: ActionPart, start: Snapshot, robot: RobotContract) -> Array:
    if part.target == "gripper":
        share = np.full(len(part.index), 0.5)
        return GripperConvention.parse(str(part.gripper)).value(share)
    if part.target == "hand_rotation":
        still = start.state["hand_orientation"] if part.mode == "absolute" else _IDENTITY
        form = REPRESENTATIONS[str(part.form)]
        return form.from_wxyz(still) * (unit_factor("rad", to=part.unit) if form.size == 3 else 1.0)
    names = {"joints": "joint_position", "hand_position": "hand_position"}
    if part.mode != "absolute" or part.target not in names:
        return np.zeros(len(part.index))
    unit = "rad" if part.target == "joints" else "m"
    return np.asarray(start.state[names[part.target]]) * unit_factor(unit, to=part.unit)


def _raw_step(part: ActionPart, place: int, robot: RobotContract, rate_hz: float) -> float:
    """Return how much to add to the raw column so that the target moves by the probing step."""
    ones = np.zeros(len(part.index))
    ones[place] = 1.0
    slope = float((part.affine()(ones) - part.affine()(np.zeros(len(part.index))))[place])
    if part.target == "gripper":
        convention = GripperConvention.parse(str(part.gripper))
        return 0.4 * (convention.open - convention.closed) / slope
    base = {"joints": "rad", "hand_position": "m"}.get(part.target, "rad")
    factor = 1.0 if part.unit == "1" else _factor(part.unit, base)
    if part.mode == "velocity":
        factor /= rate_hz
    return _STEP / (abs(slope) * factor)


def _factor(unit: str, base: str) -> float:
    return unit_factor(unit, to=base if "/" not in unit else f"{base}/s")


def _compare(
    part: ActionPart, column: int, home: Array, target: Array, reached: Snapshot | None, space: str
) -> Probe:
    expected = _moved(part, home, target, space)
    if reached is None:
        return Probe(
            column=column,
            target=part.target,
            expected=_shown(part, expected),
            measured="not reachable from here",
            agrees=False,
        )
    measured = _moved(part, home, _row(reached, space, len(target)), space)
    size = float(np.linalg.norm(expected))
    close = float(np.linalg.norm(measured - expected)) <= 0.2 * size
    return Probe(
        column=column,
        target=part.target,
        expected=_shown(part, expected),
        measured=_shown(part, measured),
        agrees=bool(size > 1e-6 and close),
    )


def _row(snapshot: Snapshot, space: str, width: int) -> Array:
    state = snapshot.state
    arm = (
        state["joint_position"]
        if space == "joint"
        else np.concatenate([state["hand_position"], state["hand_orientation"]])
    )
    row = np.concatenate([arm, np.atleast_1d(state["gripper_width"])])
    return row[:width]


def _moved(part: ActionPart, home: Array, target: Array, space: str) -> Array:
    """Return what moved of what this part moves: joints, metres, turn, or gripper."""
    if part.target == "gripper":
        return target[-1:] - home[-1:]
    if part.target == "joints":
        return target[: len(part.index)] - home[: len(part.index)]
    if part.target == "hand_position":
        return target[:3] - home[:3]
    turn = multiply(target[3:7], inverse(home[3:7]))
    return REPRESENTATIONS["axis_angle"].from_wxyz(turn)


def _shown(part: ActionPart, moved: Array) -> str:
    axis = int(np.argmax(np.abs(moved)))
    names = {
        "joints": (f"joint{axis + 1}", "rad"),
        "gripper": ("gripper", "m"),
        "hand_position": ("xyz"[axis % 3], "m"),
        "hand_rotation": (f"about {'xyz'[axis % 3]}", "rad"),
    }
    name, unit = names[part.target]
    return f"{name} {moved[axis]:+.4f} {unit}"
