"""Turn what a robot shows into what a model expects, and its chunks back into actions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.policies.robot.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from interlock.messages.contract import Contract, Feature
    from interlock.policies.robot.client import Observation


class Adapter:
    """Passes observations through and adds the prompt; subclasses rename and reshape.

    Attributes:
        chunk_size: Actions executed of each chunk; None executes all of them.
    """

    chunk_size: int | None = None

    def bind(self, contract: Contract) -> None:
        """Learn what the robot shows and accepts, once per connection.

        Raises:
            ModelError: If model and robot do not fit.
        """

    def reset(self) -> None:
        """Forget what belongs to the episode before."""

    def adapt_observation(self, observation: Observation, prompt: str) -> dict[str, Any]:
        """Return one observation as the model expects it, without a batch dimension."""
        return {**observation.data, "prompt": prompt}

    def adapt_chunk(
        self, chunk: NDArray[np.float32], observation: Observation
    ) -> NDArray[np.float32]:
        """Return a chunk in the robot's units, shape (T, width)."""
        return chunk

    def adapt_action(
        self, action: NDArray[np.float32], observation: Observation
    ) -> NDArray[np.float32]:
        """Return the action sent to the robot, shape (width,)."""
        return action


class OpenPIAdapter(Adapter):
    """Keys as openpi policies read them.

    Args:
        keys: Key of the model by key of the robot; None passes every key through.
    """

    def __init__(self, keys: Mapping[str, str] | None = None) -> None:
        self._keys = keys

    def bind(self, contract: Contract) -> None:
        """Check that the robot shows every key the model needs."""
        missing = [name for name in self._keys or {} if name not in contract.observations]
        if missing:
            raise ModelError(
                f"the robot does not show {', '.join(missing)}; "
                f"it shows {', '.join(contract.observations)}"
            )

    def adapt_observation(self, observation: Observation, prompt: str) -> dict[str, Any]:
        """Rename, and add the prompt."""
        if self._keys is None:
            return {**observation.data, "prompt": prompt}
        renamed = {theirs: observation.data[ours] for ours, theirs in self._keys.items()}
        return {**renamed, "prompt": prompt}


class LeRobotAdapter(Adapter):
    """``observation.state``, ``observation.images.*`` and ``task`` as LeRobot policies read them.

    Args:
        image_keys: Keys of the model's cameras: a map from the robot's keys, or a list in the
            order of the robot's cameras, of the same length.
        state_keys: Vectors that make the state, in order; None takes the first one.
        chunk_size: Actions executed of each chunk.
    """

    def __init__(
        self,
        image_keys: Mapping[str, str] | list[str] | None = None,
        *,
        state_keys: list[str] | None = None,
        chunk_size: int | None = None,
    ) -> None:
        self._image_keys = image_keys
        self._state_keys = state_keys
        self.chunk_size = chunk_size
        self._cameras: list[tuple[str, str, Feature]] = []
        self._state: list[str] = []

    def bind(self, contract: Contract) -> None:
        """Match cameras and vectors by name; a missing or left-over camera is an error."""
        cameras = contract.cameras
        wanted = self._image_keys
        if wanted is None:
            wanted = {name: f"observation.images.{leaf}" for name, leaf in _leaves(cameras)}
        if isinstance(wanted, list):
            if len(wanted) != len(cameras):
                raise ModelError(
                    f"the model has {len(wanted)} cameras ({', '.join(wanted)}), "
                    f"the robot {len(cameras)} ({', '.join(cameras) or 'none'})"
                )
            wanted = dict(zip(cameras, wanted, strict=True))
        unknown = [name for name in wanted if name not in cameras]
        if unknown:
            raise ModelError(
                f"no camera {', '.join(unknown)}; the robot has {', '.join(cameras) or 'none'}"
            )
        self._cameras = [(name, key, cameras[name]) for name, key in wanted.items()]
        self._state = self._state_keys or list(contract.vectors)[:1]
        absent = [name for name in self._state if name not in contract.vectors]
        if absent:
            raise ModelError(
                f"no vector {', '.join(absent)}; the robot has {', '.join(contract.vectors)}"
            )

    def adapt_observation(self, observation: Observation, prompt: str) -> dict[str, Any]:
        """Return float32 state, CHW float32 images in 0 to 1, and the task."""
        adapted: dict[str, Any] = {"task": prompt}
        if self._state:
            parts = [np.asarray(observation.data[k], np.float32).reshape(-1) for k in self._state]
            adapted["observation.state"] = np.concatenate(parts)
        for name, key, feature in self._cameras:
            adapted[key] = image_to_chw(np.asarray(observation.data[name]), feature)
        return adapted


def _leaves(cameras: Mapping[str, Feature]) -> list[tuple[str, str]]:
    """Return the last part of each camera's key, or all of it where two share the last part."""
    last = {name: name.rsplit("/", 1)[-1] for name in cameras}
    shared = list(last.values())
    return [
        (name, leaf if shared.count(leaf) == 1 else name.replace("/", "_"))
        for name, leaf in last.items()
    ]


def image_to_chw(image: NDArray[Any], feature: Feature) -> NDArray[np.float32]:
    """Return an image as RGB, shape (3, h, w), float32: 0 to 1 for whole numbers.

    Depth keeps its one channel and its unit.
    """
    if image.ndim == 2:
        image = image[..., None]
    elif feature.representation == "CHW":
        image = np.moveaxis(image, 0, -1)
    if feature.type == "bgr":
        image = image[..., ::-1]
    if image.shape[-1] == 4:
        image = image[..., :3]
    if image.shape[-1] == 1 and feature.type != "depth":
        image = np.repeat(image, 3, axis=-1)
    scale = 255.0 if image.dtype == np.uint8 else 1.0
    chw = np.ascontiguousarray(np.moveaxis(image, -1, 0), np.float32)
    return chw / np.float32(scale)
