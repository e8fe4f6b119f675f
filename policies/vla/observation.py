"""Builds what a model sees from what a robot is: pictures resized, state in its units."""

from __future__ import annotations

import base64
import concurrent.futures
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interlock.operators.images import encode_png, prepare, to_layout, turn
from interlock.operators.rotations import REPRESENTATIONS
from interlock.policies.vla.errors import PolicyError
from interlock.policies.vla.transforms import GripperConvention, unit_factor

if TYPE_CHECKING:
    from interlock.policies.vla.preset import Field, Preset, StatePart
    from interlock.policies.vla.robot import RobotContract, Snapshot

Array = NDArray[np.float64]

_QUATERNIONS = ("quaternion_wxyz", "quaternion_xyzw", "rotation_6d")
_FORM_NAMES = {
    "quaternion_wxyz": ("qw", "qx", "qy", "qz"),
    "quaternion_xyzw": ("qx", "qy", "qz", "qw"),
    "axis_angle": ("ax", "ay", "az"),
    "roll_pitch_yaw": ("roll", "pitch", "yaw"),
    "euler_xyz": ("ex", "ey", "ez"),
    "rotation_6d": ("r11", "r21", "r31", "r12", "r22", "r32"),
}


class ObservationBuilder:
    """Builds the observation of one preset from snapshots of one robot; both must fit."""

    def __init__(self, preset: Preset, robot: RobotContract) -> None:
        self._preset = preset
        self._robot = robot
        self._fields = preset.observation.fields
        cameras = sum(f.camera is not None for f in self._fields.values())
        # Resizing lets go of the interpreter, so two cameras take little longer than one.
        self._pool = (
            concurrent.futures.ThreadPoolExecutor(cameras, thread_name_prefix="resize")
            if cameras > 1
            else None
        )

    def build(self, snapshot: Snapshot, *, prefix: Array | None = None) -> dict[str, Any]:
        """Return the observation as the wire sends it.

        Args:
            snapshot: What the robot is like.
            prefix: Rows that will be played before the answer comes, for servers that take them.

        Raises:
            PolicyError: If a picture or a state is not there.
        """
        pictures = self.pictures(snapshot)
        built: dict[str, Any] = {}
        for key, field in self._fields.items():
            self._put(built, key, self._value(key, field, snapshot, pictures))
        if self._preset.chunks.prefix_key and prefix is not None and len(prefix):
            self._put(built, self._preset.chunks.prefix_key, prefix.astype(np.float32))
        return built

    def pictures(self, snapshot: Snapshot) -> dict[str, NDArray[np.uint8]]:
        """Return every picture by key, turned and resized: RGB, shape (h, w, 3), 0 to 255."""
        wanted = [(key, f) for key, f in self._fields.items() if f.camera is not None]
        originals = [(f, self._picture(str(f.camera), snapshot)) for _, f in wanted]
        if self._pool is None:
            done = [_prepared(field, picture) for field, picture in originals]
        else:
            done = list(self._pool.map(lambda item: _prepared(*item), originals))
        return {key: picture for (key, _), picture in zip(wanted, done, strict=True)}

    def state(self, key: str, snapshot: Snapshot) -> Array:
        """Return the numbers of one state key, in the model's units."""
        pieces = [self._piece(part, snapshot) for part in self._fields[key].state]
        return np.concatenate(pieces)

    def labels(self, key: str) -> list[str]:
        """Return ``name [unit]`` for every number of one state key."""
        return [label for part in self._fields[key].state for label in self._part_labels(part)]

    def _value(
        self, key: str, field: Field, snapshot: Snapshot, pictures: dict[str, NDArray[np.uint8]]
    ) -> Any:
        if field.prompt:
            text: Any = snapshot.prompt
            for _ in range(field.nest):
                text = [text]
            return text
        if field.state:
            numbers = self.state(key, snapshot).astype(field.dtype)
            return _encoded(numbers, field)
        if field.camera is None:
            return field.constant
        picture = pictures[key] if field.colour == "rgb" else pictures[key][..., ::-1]
        if field.encoding == "png_base64":
            return base64.b64encode(encode_png(picture)).decode()
        picture = to_layout(picture, field.layout)
        scaled = picture.astype(np.float32) / 255.0 if field.dtype == "float32" else picture
        return _encoded(np.ascontiguousarray(scaled), field)

    def _picture(self, camera: str, snapshot: Snapshot) -> NDArray[np.uint8]:
        name = self._preset.camera(camera)
        picture = snapshot.images.get(name)
        if picture is None:
            have = ", ".join(sorted(snapshot.images)) or "none"
            raise PolicyError(f"no picture of camera {name!r} yet; there are: {have}")
        return picture

    def _piece(self, part: StatePart, snapshot: Snapshot) -> Array:
        if part.field not in snapshot.state:
            have = ", ".join(sorted(snapshot.state)) or "none"
            raise PolicyError(f"no state {part.field!r} yet; there are: {have}")
        value = np.atleast_1d(np.asarray(snapshot.state[part.field], np.float64))
        spec = self._robot.state[part.field]
        if spec.kind == "rotation":
            value = _rotation(value, part)
        elif spec.kind == "gripper":
            value = self._gripper(value, part, spec.unit)
        else:
            value = value * unit_factor(spec.unit, to=part.unit)
        return part.affine()(value[list(part.pick)] if part.pick else value)

    def _gripper(self, width: Array, part: StatePart, unit: str) -> Array:
        if part.gripper is not None:
            return GripperConvention.parse(part.gripper).value(width / self._robot.gripper_max_m)
        width = width * unit_factor(unit, to=part.unit)
        return np.concatenate([width / 2, -width / 2]) if part.fingers else width

    def _part_labels(self, part: StatePart) -> list[str]:
        spec = self._robot.state[part.field]
        if spec.kind == "rotation":
            names: tuple[str, ...] = _FORM_NAMES[str(part.form)]
        elif part.fingers:
            names = ("finger1", "finger2")
        else:
            names = spec.names or tuple(f"{part.field}[{i}]" for i in range(spec.size))
        chosen = [names[i] for i in part.pick] if part.pick else list(names)
        unit = part.gripper or part.unit
        return [f"{name} [{unit}]" for name in chosen]

    def _put(self, target: dict[str, Any], key: str, value: Any) -> None:
        path = key.split("/") if self._preset.observation.nested else [key]
        for step in path[:-1]:
            target = target.setdefault(step, {})
        target[path[-1]] = value


def _prepared(field: Field, picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    if field.resize is None:
        return turn(picture, degrees=field.rotate_deg, flip=field.flip)
    width, height = field.resize
    return prepare(
        picture,
        degrees=field.rotate_deg,
        flip=field.flip,
        height=height,
        width=width,
        stretch=field.fit == "stretch",
    )


def _rotation(wxyz: Array, part: StatePart) -> Array:
    value = REPRESENTATIONS[str(part.form)].from_wxyz(wxyz)
    return value if part.form in _QUATERNIONS else value * unit_factor("rad", to=part.unit)


def _encoded(array: NDArray[Any], field: Field) -> Any:
    array = array[(np.newaxis,) * field.batch] if field.batch else array
    return array.tolist() if field.encoding == "list" else array
