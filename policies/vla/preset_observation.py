"""The part of a preset that says what a model is shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from interlock.operators.rotations import REPRESENTATIONS
from interlock.policies.vla.transforms import Affine, GripperConvention, check_unit

Form = Literal[
    "quaternion_wxyz",
    "quaternion_xyzw",
    "axis_angle",
    "roll_pitch_yaw",
    "euler_xyz",
    "rotation_6d",
]
assert set(Form.__args__) == set(REPRESENTATIONS)  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatePart:
    """One piece of the state as the model was trained on it.

    Attributes:
        field: Name in the robot's state.
        unit: Unit the model wants.
        pick: Which numbers, in which order; empty for all as they are.
        form: How a rotation is written; has no default, and belongs to rotations only.
        gripper: Which number means open and which closed, for a gripper told as a share.
        fingers: A gripper told as two fingers, +width/2 and -width/2.
        sign: 1 or -1, for all or per number.
        scale: After the sign.
        offset: After the scale.
    """

    field: str
    unit: str
    pick: tuple[int, ...] = ()
    form: Form | None = None
    gripper: str | None = None
    fingers: bool = False
    sign: tuple[int, ...] = ()
    scale: tuple[float, ...] = ()
    offset: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        check_unit(self.unit)
        self.affine()
        if self.gripper is not None:
            GripperConvention.parse(self.gripper)

    def affine(self) -> Affine:
        """Return the map applied last."""
        return Affine(sign=self.sign, scale=self.scale, offset=self.offset)


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One key of the observation: exactly one of camera, state, prompt and constant.

    Attributes:
        camera: A camera; the options of pictures apply.
        rotate_deg: Counter-clockwise turn of the upright picture: 0, 90, 180 or 270.
        flip: none, horizontal, vertical or both, after the turn.
        resize: Width and height, in pixels; none leaves the camera's size.
        fit: pad keeps proportions on black, stretch does not; required with ``resize``.
        colour: Order of the channels.
        layout: hwc, or channels first.
        dtype: uint8 (0 to 255), float32 (0 to 1 for pictures) or float64.
        encoding: array, list, or for pictures png_base64.
        state: Pieces side by side; the options of states apply.
        size: How many numbers the pieces must be together; 0 does not check.
        prompt: True for the instruction as text.
        nest: The prompt in this many lists of one.
        constant: The same value always.
        batch: Leading dimensions of 1.
    """

    camera: str | None = None
    rotate_deg: Literal[0, 90, 180, 270] = 0
    flip: Literal["none", "horizontal", "vertical", "both"] = "none"
    resize: tuple[int, int] | None = None
    fit: Literal["pad", "stretch"] | None = None
    colour: Literal["rgb", "bgr"] = "rgb"
    layout: Literal["hwc", "chw"] = "hwc"
    dtype: Literal["uint8", "float32", "float64"] | None = None
    encoding: Literal["array", "list", "png_base64"] = "array"
    state: tuple[StatePart, ...] = ()
    size: int = 0
    prompt: bool = False
    nest: int = 0
    constant: Any = None
    batch: int = 0

    def __post_init__(self) -> None:
        sources = [self.camera is not None, bool(self.state), self.prompt]
        if sum([*sources, self.constant is not None]) != 1:
            raise ValueError("needs exactly one of camera, state, prompt and constant")
        if (self.resize is None) != (self.fit is None):
            raise ValueError("resize and fit (pad or stretch) go together")
        if self.resize is not None and not all(1 <= n <= 4096 for n in self.resize):
            raise ValueError(f"resize is {list(self.resize)}; width and height are 1 to 4096")
        if self.state and self.dtype not in ("float32", "float64"):
            raise ValueError("a state needs dtype float32 or float64")
        if self.camera is not None and self.dtype not in ("uint8", "float32"):
            raise ValueError("a camera needs dtype uint8 or float32")
        if not (0 <= self.batch <= 4 and 0 <= self.nest <= 4):
            raise ValueError("batch and nest are 0 to 4")


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What the model is shown.

    Attributes:
        fields: By key.
        nested: A key with ``/`` is a path into maps; else it is one flat key.
    """

    fields: dict[str, Field] = field(default_factory=dict)
    nested: bool = False
