"""A small policy that was cloned from demonstrations: colour keypoints, then a perceptron.

Each camera has a few maps, linear in the colours of a pixel; the softmax of a map over the picture
says where it looks, and its mean position is two numbers. These, the state and a ReLU network
give the next moves of the hand. Small enough to train on a laptop in minutes.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interlock.policies.vla.errors import PolicyError

if TYPE_CHECKING:
    from collections.abc import Mapping

Array = NDArray[np.float32]

#: Keys of the observation, as `configs/policies/interlock/panda_cloned.yml` names them.
CAMERAS = ("observation/front", "observation/side")
STATE = "observation/state"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cloned:
    """The weights of a cloned policy.

    Attributes:
        weights: ``maps<i>`` per camera, shape (3, n_maps); ``layer<j>`` and ``bias<j>``;
            ``mean``, ``spread`` of the inputs; ``out_mean``, ``out_spread`` of the outputs.
        horizon: Rows of a chunk.
    """

    weights: Mapping[str, Array]
    horizon: int

    @classmethod
    def load(cls, path: Path) -> Cloned:
        """Read weights from a safetensors file.

        Raises:
            PolicyError: If it can't be read or lacks what a cloned policy has.
        """
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        try:
            weights = load_file(path)
            horizon = int(weights["horizon"][0])
        except (OSError, KeyError, ValueError, SafetensorError) as error:
            raise PolicyError(f"{path} is no cloned policy: {error}") from error
        return cls(weights=weights, horizon=horizon)

    def save(self, path: Path) -> None:
        """Write the weights to a safetensors file."""
        from safetensors.numpy import save_file

        path.parent.mkdir(parents=True, exist_ok=True)
        save_file({**self.weights, "horizon": np.array([self.horizon], np.float32)}, path)

    def act(self, observation: Mapping[str, Any], request: int) -> Array:
        """Return a chunk, shape (horizon, 4): the hand's way from here in m, share open."""
        found = [
            keypoints(np.asarray(observation[key])[np.newaxis], self.weights[f"maps{i}"])
            for i, key in enumerate(CAMERAS)
        ]
        state = np.asarray(observation[STATE], np.float32)[np.newaxis]
        rows: Array = self.chunk(np.concatenate([*found, state], axis=1))[0]
        return rows

    def infer(self, observation: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer like a model in process."""
        return {"actions": self.act(observation, 0)}

    def chunk(self, inputs: Array) -> Array:
        """Return chunks for a batch of inputs, shape (n, n_inputs)."""
        w = self.weights
        hidden = (inputs - w["mean"]) / w["spread"]
        last = sum(name.startswith("layer") for name in w) - 1
        for j in range(last):
            hidden = np.maximum(hidden @ w[f"layer{j}"] + w[f"bias{j}"], 0.0)
        out = (hidden @ w[f"layer{last}"] + w[f"bias{last}"]) * w["out_spread"] + w["out_mean"]
        rows: Array = np.asarray(out, np.float32).reshape(len(out), self.horizon, -1)
        rows[..., -1] = np.clip(rows[..., -1], 0.0, 1.0)
        return rows


def shipped_weights() -> Path:
    """Return the weights that come with Interlock, made by ``interlock bench cloning``."""
    folder = Path(str(files("interlock.configs")))
    return folder / "policies" / "interlock" / "panda_cloned.safetensors"


def keypoints(pictures: NDArray[np.uint8], maps: Array) -> Array:
    """Return the mean position of each map.

    Args:
        pictures: RGB, shape (n, h, w, 3), values 0 to 255.
        maps: Shape (3, n_maps): how much a map likes red, green and blue, from 0 to 1.

    Returns:
        Shape (n, 2 n_maps): x of every map from -1 (left) to 1, then y from -1 (top) to 1.
    """
    n, height, width, _ = pictures.shape
    colours = pictures.reshape(n, -1, 3).astype(np.float32) / 255.0
    share = attention(colours, maps)
    x, y = grid(height, width)
    result: Array = np.concatenate([x @ share, y @ share], axis=1).astype(np.float32)
    return result


def attention(colours: Array, maps: Array) -> Array:
    """Return the softmax over pixels of every map, shape (n, pixels, n_maps)."""
    logits = colours @ maps
    logits -= logits.max(axis=1, keepdims=True)
    raw = np.exp(logits)
    result: Array = raw / raw.sum(axis=1, keepdims=True)
    return result


def grid(height: int, width: int) -> tuple[Array, Array]:
    """Return x and y of every pixel from -1 to 1, each of shape (height * width,)."""
    y, x = np.meshgrid(np.linspace(-1, 1, height), np.linspace(-1, 1, width), indexing="ij")
    return x.reshape(-1).astype(np.float32), y.reshape(-1).astype(np.float32)
