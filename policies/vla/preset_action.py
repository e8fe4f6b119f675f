"""The part of a preset that says what the columns of a model's answer mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from interlock.operators.rotations import REPRESENTATIONS
from interlock.policies.vla.preset_observation import Form  # noqa: TC001 (read at run time)
from interlock.policies.vla.transforms import Affine, GripperConvention, check_unit


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionPart:
    """What some columns of an action mean.

    Attributes:
        target: What they move; ``ignored`` says that they move nothing, on purpose.
        index: Which columns, in the order of the target.
        unit: Unit after sign, scale and offset.
        mode: absolute; delta from the row before; chunk_start, from where the robot was when it
            was observed; velocity. Has no default for what moves the arm.
        frame: Axes of hand deltas: the robot's base, or the tool. Required for hand targets.
        form: How a rotation is written. Required for rotations.
        gripper: Which number means open and which closed. Required for grippers.
        threshold: Binarise the gripper at this share of open, 0 to 1; none passes it on.
        sign: 1 or -1, for all or per column.
        scale: After the sign.
        offset: After the scale.
    """

    target: Literal["joints", "hand_position", "hand_rotation", "gripper", "ignored"]
    index: tuple[int, ...]
    unit: str = "1"
    mode: Literal["absolute", "delta", "chunk_start", "velocity"] | None = None
    frame: Literal["base", "tool"] | None = None
    form: Form | None = None
    gripper: str | None = None
    threshold: float | None = None
    sign: tuple[int, ...] = ()
    scale: tuple[float, ...] = ()
    offset: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        check_unit(self.unit)
        if not self.index or len(set(self.index)) != len(self.index) or min(self.index) < 0:
            raise ValueError(f"index {list(self.index)} must be different columns from 0")
        if wrong := self.affine().wrong_length(len(self.index)):
            raise ValueError(f"{wrong} for {len(self.index)} columns")
        if self.threshold is not None and not (0.0 < self.threshold < 1.0):
            raise ValueError(f"threshold is {self.threshold:g}; it is between 0 and 1")
        for problem in self._missing():
            raise ValueError(problem)

    def affine(self) -> Affine:
        """Return the map applied first."""
        return Affine(sign=self.sign, scale=self.scale, offset=self.offset)

    def _missing(self) -> list[str]:
        problems = []
        hand = self.target in ("hand_position", "hand_rotation")
        if (self.target == "joints" or hand) and self.mode is None:
            problems.append(f"{self.target} needs a mode: absolute, delta, chunk_start, velocity")
        if hand and self.frame is None:
            problems.append(f"{self.target} needs a frame: base or tool")
        if self.target == "hand_rotation":
            if self.form is None:
                problems.append("hand_rotation needs a form, e.g. axis_angle or quaternion_wxyz")
            elif REPRESENTATIONS[self.form].size != len(self.index):
                size = REPRESENTATIONS[self.form].size
                problems.append(f"{self.form} takes {size} columns, index has {len(self.index)}")
        if self.target == "gripper":
            if self.gripper is None:
                problems.append("gripper needs its convention, e.g. '1=open, 0=closed'")
            else:
                GripperConvention.parse(self.gripper)
        return problems


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """What the model answers.

    Attributes:
        width: Columns of a row; every one of them belongs to a part.
        padded_width: Columns sent when the model pads its rows; 0 for no padding. What is padded
            is never looked at.
        rate_hz: Rows per second the model was trained at.
        horizon: Rows of a chunk; 0 when the server decides.
        anchor: Where relative actions start from: the measured state or the commanded one.
        parts: What the columns mean.
    """

    width: int = 0
    padded_width: int = 0
    rate_hz: float = 0.0
    horizon: int = 0
    anchor: Literal["measured", "commanded"] = "measured"
    parts: tuple[ActionPart, ...] = ()

    def __post_init__(self) -> None:
        if self.parts and not (0.1 <= self.rate_hz <= 1000.0):
            raise ValueError(f"rate_hz is {self.rate_hz:g}; 0.1 to 1000")
        if self.padded_width and self.padded_width <= self.width:
            raise ValueError(f"padded_width {self.padded_width} is not over width {self.width}")
        if not (0 <= self.horizon <= 10_000):
            raise ValueError(f"horizon is {self.horizon}; 0 to 10000")
