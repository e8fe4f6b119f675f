"""From a robot contract to the features of a LeRobot dataset."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.operators.lerobot_dataset.layout import (
    DATA_PATH,
    FILES_PER_CHUNK,
    VERSION,
    VIDEO_PATH,
    DatasetError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interlock.messages.contract import Contract, Feature

#: Columns of every dataset, in LeRobot's order.
INDEX_COLUMNS = {
    "timestamp": "float32",
    "frame_index": "int64",
    "episode_index": "int64",
    "index": "int64",
    "task_index": "int64",
}
#: Columns that keep what LeRobot has no name for.
EXTRA_COLUMNS = {
    "next.reward": "float32",
    "next.done": "bool",
    "next.success": "bool",
    "observed_ns": "int64",
    "verdict": "int64",
}
#: Values of the ``verdict`` column.
ADMITTED, CLIPPED, REFUSED = 0, 1, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Camera:
    """One camera that becomes a video.

    Attributes:
        wire: Its key in the observations.
        key: Its key in the dataset.
        feature: What the contract says about it.
    """

    wire: str
    key: str
    feature: Feature


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """What goes where.

    Attributes:
        fps: Rows per second.
        robot_type: Name of the robot, or None.
        cameras: Videos.
        vectors: Dataset key and width by the key of the observations.
        names: Names of the numbers by dataset key.
        action_width: Numbers of the action.
        left_out: Observations that are not recorded, each with the reason.
    """

    fps: int
    robot_type: str | None
    cameras: tuple[Camera, ...]
    vectors: Mapping[str, tuple[str, int]]
    names: Mapping[str, list[str]]
    action_width: int
    left_out: Mapping[str, str] = field(default_factory=dict)

    def features(self) -> dict[str, Any]:
        """Return the ``features`` of info.json."""
        features: dict[str, Any] = {}
        for key, width in (*self.vectors.values(), ("action", self.action_width)):
            features[key] = {"dtype": "float32", "shape": [width], "names": self.names[key]}
        for camera in self.cameras:
            height, width = size(camera.feature)
            features[camera.key] = {
                "dtype": "video",
                "shape": [height, width, 3],
                "names": ["height", "width", "channels"],
                "info": video_info(height, width, self.fps),
            }
        for name, dtype in (EXTRA_COLUMNS | INDEX_COLUMNS).items():
            features[name] = {"dtype": dtype, "shape": [1], "names": None}
        return features

    def info(self, *, episodes: int, frames: int, tasks: int) -> dict[str, Any]:
        """Return info.json."""
        return {
            "codebase_version": VERSION,
            "robot_type": self.robot_type,
            "total_episodes": episodes,
            "total_frames": frames,
            "total_tasks": tasks,
            "chunks_size": FILES_PER_CHUNK,
            "data_files_size_in_mb": 100,
            "video_files_size_in_mb": 200,
            "fps": self.fps,
            "splits": {"train": f"0:{episodes}"},
            "data_path": DATA_PATH,
            "video_path": VIDEO_PATH if self.cameras else None,
            "features": self.features(),
        }


def schema_of(contract: Contract, *, key_map: Mapping[str, str] | None = None) -> Schema:
    """Return the schema for a robot.

    Args:
        contract: The robot.
        key_map: Dataset key by observation key, where policies were trained with another one:
            ``{"observation/image": "observation.images.top"}``.

    Raises:
        DatasetError: If two observations would get one key, or a mapped one does not exist.
    """
    chosen = dict(key_map or {})
    _check_known(chosen, contract)
    left_out = _left_out(contract)
    cameras = tuple(
        Camera(wire=name, key=chosen.get(name, _image_key(name)), feature=feature)
        for name, feature in contract.cameras.items()
        if name not in left_out
    )
    usable = {n: f for n, f in contract.vectors.items() if n not in left_out}
    vectors = {
        name: (chosen.get(name, _vector_key(name, alone=len(usable) == 1)), feature.width or 1)
        for name, feature in usable.items()
    }
    _check_unique([c.key for c in cameras] + [key for key, _ in vectors.values()])
    action = contract.action
    names = {key: _names(contract.features[wire]) for wire, (key, _) in vectors.items()}
    return Schema(
        fps=max(1, round(contract.control_rate_hz)),
        robot_type=contract.robot_type,
        cameras=cameras,
        vectors=vectors,
        names={**names, "action": _names(action)},
        action_width=action.width or 1,
        left_out=left_out,
    )


def _check_known(chosen: Mapping[str, str], contract: Contract) -> None:
    unknown = [name for name in chosen if name not in contract.observations]
    if unknown:
        raise DatasetError(
            f"key map: no observation {', '.join(unknown)}; "
            f"the robot has {', '.join(contract.observations)}"
        )


def size(feature: Feature) -> tuple[int, int]:
    """Return height and width of a camera."""
    shape = feature.shape or ()
    if len(shape) == 3 and feature.representation == "CHW":
        return shape[1], shape[2]
    return shape[0], shape[1]


def video_info(height: int, width: int, fps: int) -> dict[str, Any]:
    """Return what info.json says about a video."""
    return {
        "video.height": height,
        "video.width": width,
        "video.codec": "h264",
        "video.pix_fmt": pixel_format(height, width),
        "video.is_depth_map": False,
        "video.fps": fps,
        "video.channels": 3,
        "has_audio": False,
    }


def pixel_format(height: int, width: int) -> str:
    """Return a pixel format that can hold the size."""
    return "yuv420p" if height % 2 == 0 and width % 2 == 0 else "yuv444p"


def _left_out(contract: Contract) -> dict[str, str]:
    reasons = {}
    for name, feature in contract.observations.items():
        if feature.type == "depth":
            reasons[name] = "depth does not survive 8-bit video"
        elif feature.is_image and (feature.shape is None or len(feature.shape) < 2):
            reasons[name] = "the contract gives this camera no size"
        elif feature.dtype == "string" or feature.type == "language":
            reasons[name] = "text; the task is kept as the task"
        elif not feature.is_image and feature.width is None:
            reasons[name] = "the contract gives this vector no shape"
    return reasons


def _image_key(name: str) -> str:
    return "observation.images." + _slug(name.removeprefix("observation/"))


def _vector_key(name: str, *, alone: bool) -> str:
    leaf = name.rsplit("/", 1)[-1]
    if alone or leaf == "state":
        return "observation.state"
    return "observation." + _slug(name.removeprefix("observation/"))


def _slug(name: str) -> str:
    return name.replace("/", "_").replace(".", "_")


def _names(feature: Feature) -> list[str]:
    width = feature.width or 1
    return list(feature.names) or [f"{feature.name.rsplit('/', 1)[-1]}_{i}" for i in range(width)]


def _check_unique(keys: list[str]) -> None:
    twice = {key for key in keys if keys.count(key) > 1}
    if twice:
        raise DatasetError(f"two observations would be {', '.join(sorted(twice))}; pass a key_map")


def as_rgb(image: np.ndarray, feature: Feature) -> np.ndarray:
    """Return an image as RGB, shape (h, w, 3), uint8."""
    if image.ndim == 2:
        image = image[..., None]
    elif feature.representation == "CHW":
        image = np.moveaxis(image, 0, -1)
    if feature.type == "bgr":
        image = image[..., ::-1]
    image = np.repeat(image, 3, axis=-1) if image.shape[-1] == 1 else image[..., :3]
    if image.dtype != np.uint8:
        scale = 255.0 if image.dtype.kind == "f" else 255.0 / 65535.0
        image = np.clip(image * scale, 0, 255).astype(np.uint8)
    return np.ascontiguousarray(image)
