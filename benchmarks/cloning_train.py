"""Behaviour cloning in numpy: keypoints and a small network first, then the network alone, longer.

Works on any demonstrations of this shape; ``Demos`` is what a user fills from recorded data.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from interlock.policies.vla.cloned import Cloned, attention, grid, keypoints

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Array = NDArray[np.float32]

N_MAPS = 6
HIDDEN = 192
_MAP_SCALE = 12.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Demos:
    """Steps of many demonstrations, one after another.

    Attributes:
        pictures: One array per camera, shape (n, h, w, 3), 0 to 255.
        state: Shape (n, n_state).
        chunks: What to do next, shape (n, horizon, width); the gripper comes last.
    """

    pictures: tuple[NDArray[np.uint8], ...]
    state: Array
    chunks: Array


class Adam:
    """Adam's rule on named arrays, in place."""

    def __init__(self, values: dict[str, Array], rate: float) -> None:
        self._values, self._rate, self._t = values, rate, 0
        self._mean = {k: np.zeros_like(v) for k, v in values.items()}
        self._square = {k: np.zeros_like(v) for k, v in values.items()}

    def step(self, gradients: dict[str, Array], *, slower: float = 1.0) -> None:
        """Move every array against its gradient."""
        self._t += 1
        for name, gradient in gradients.items():
            mean, square = self._mean[name], self._square[name]
            mean += 0.1 * (gradient - mean)
            square += 0.001 * (gradient * gradient - square)
            fixed = mean / (1 - 0.9**self._t) / (np.sqrt(square / (1 - 0.999**self._t)) + 1e-8)
            self._values[name] -= (self._rate * slower * fixed).astype(np.float32)


def train(
    demos: Demos,
    *,
    seed: int,
    map_steps: int = 300,
    net_steps: int = 6_000,
    tell: Callable[[str], None] = lambda _: None,
) -> Cloned:
    """Return a policy that does as the demonstrations do.

    Args:
        demos: The demonstrations.
        seed: Seed of the start and of the order of steps.
        map_steps: Steps that train keypoints and network together, on 96 pictures each.
        net_steps: Steps that train the network alone, on 256 each.
        tell: Called with a line about progress.
    """
    rng = np.random.default_rng(seed)
    flat = demos.chunks.reshape(len(demos.chunks), -1)
    scale = {"out_mean": flat.mean(0), "out_spread": flat.std(0) + 1e-3}
    wanted = ((flat - scale["out_mean"]) / scale["out_spread"]).astype(np.float32)
    maps = {
        f"maps{i}": (_MAP_SCALE * rng.normal(size=(3, N_MAPS))).astype(np.float32)
        for i in range(len(demos.pictures))
    }
    maps = _train_maps(maps, demos, wanted, map_steps, rng, tell)
    seen = [_all_keypoints(p, maps[f"maps{i}"]) for i, p in enumerate(demos.pictures)]
    inputs = np.concatenate([*seen, demos.state], axis=1)
    norm = {"mean": inputs.mean(0), "spread": inputs.std(0) + 1e-3}
    ready = ((inputs - norm["mean"]) / norm["spread"]).astype(np.float32)
    net = _train_net(ready, wanted, net_steps, rng, tell)
    weights = {k: v.astype(np.float32) for k, v in {**maps, **norm, **scale, **net}.items()}
    return Cloned(weights=weights, horizon=demos.chunks.shape[1])


def _train_maps(
    maps: dict[str, Array],
    demos: Demos,
    wanted: Array,
    steps: int,
    rng: np.random.Generator,
    tell: Callable[[str], None],
) -> dict[str, Array]:
    inputs = 2 * N_MAPS * len(maps) + demos.state.shape[1]
    net = _new_net([inputs, 96, wanted.shape[1]], rng)
    state = ((demos.state - demos.state.mean(0)) / (demos.state.std(0) + 1e-3)).astype(np.float32)
    for_net, for_maps = Adam(net, 2e-3), Adam(maps, 0.15)
    for step in range(steps):
        rows = rng.integers(0, len(wanted), 96)
        looks = [_Look(demos.pictures[i][rows], maps[f"maps{i}"]) for i in range(len(maps))]
        features = np.concatenate([*(look.found for look in looks), 0.3 * state[rows]], axis=1)
        loss, gradients, back = _backward(net, features, wanted[rows])
        for_net.step(gradients)
        width = 2 * N_MAPS
        for_maps.step(
            {
                f"maps{i}": look.gradient(back[:, i * width : (i + 1) * width])
                for i, look in enumerate(looks)
            }
        )
        if step % 100 == 99:
            tell(f"keypoints: step {step + 1} of {steps}, loss {loss:.4f}")
    return maps


class _Look:
    """The keypoints of some pictures, and their gradient."""

    def __init__(self, pictures: NDArray[np.uint8], maps: Array) -> None:
        n, height, width, _ = pictures.shape
        self._colours = pictures.reshape(n, -1, 3).astype(np.float32) / 255.0
        self._share = attention(self._colours, maps)
        self._x, self._y = grid(height, width)
        self._mean_x, self._mean_y = self._x @ self._share, self._y @ self._share
        self.found = np.concatenate([self._mean_x, self._mean_y], axis=1)

    def gradient(self, back: Array) -> Array:
        """Return the gradient of the maps from that of the keypoints, shape (n, 2 n_maps)."""
        of_x, of_y = back[:, None, :N_MAPS], back[:, None, N_MAPS:]
        away_x = self._x[None, :, None] - self._mean_x[:, None]
        away_y = self._y[None, :, None] - self._mean_y[:, None]
        of_logits = self._share * (of_x * away_x + of_y * away_y)
        result: Array = self._colours.reshape(-1, 3).T @ of_logits.reshape(-1, N_MAPS)
        return result


def _train_net(
    inputs: Array,
    wanted: Array,
    steps: int,
    rng: np.random.Generator,
    tell: Callable[[str], None],
) -> dict[str, Array]:
    net = _new_net([inputs.shape[1], HIDDEN, HIDDEN, wanted.shape[1]], rng)
    adam = Adam(net, 1e-3)
    for step in range(steps):
        rows = rng.integers(0, len(wanted), 256)
        # A little noise on what is seen: a policy meets states that no demonstration had.
        noisy = inputs[rows] + rng.normal(0.0, 0.01, (256, inputs.shape[1])).astype(np.float32)
        loss, gradients, _ = _backward(net, noisy, wanted[rows])
        adam.step(gradients, slower=0.5 * (1 + np.cos(np.pi * step / steps)))
        if step % 1000 == 999:
            tell(f"network: step {step + 1} of {steps}, loss {loss:.4f}")
    return net


def _new_net(sizes: Sequence[int], rng: np.random.Generator) -> dict[str, Array]:
    net: dict[str, Array] = {}
    for j, (a, b) in enumerate(itertools.pairwise(sizes)):
        net[f"layer{j}"] = (rng.normal(size=(a, b)) * np.sqrt(2.0 / a)).astype(np.float32)
        net[f"bias{j}"] = np.zeros(b, np.float32)
    return net


def _backward(
    net: dict[str, Array], inputs: Array, wanted: Array
) -> tuple[float, dict[str, Array], Array]:
    """Return the mean square error, the gradients of the network, and that of its inputs."""
    layers = len(net) // 2
    activity = [inputs.astype(np.float32)]
    for j in range(layers):
        out = activity[-1] @ net[f"layer{j}"] + net[f"bias{j}"]
        activity.append(np.maximum(out, 0.0) if j < layers - 1 else out)
    error = activity[-1] - wanted
    back = (2.0 / error.size) * error
    gradients: dict[str, Array] = {}
    for j in reversed(range(layers)):
        if j < layers - 1:
            back = back * (activity[j + 1] > 0)
        gradients[f"layer{j}"] = activity[j].T @ back
        gradients[f"bias{j}"] = back.sum(axis=0)
        back = back @ net[f"layer{j}"].T
    return float(np.mean(error * error)), gradients, back


def _all_keypoints(pictures: NDArray[np.uint8], maps: Array) -> Array:
    def parts() -> Iterator[Array]:
        for first in range(0, len(pictures), 256):
            yield keypoints(pictures[first : first + 256], maps)

    return np.concatenate(list(parts()))
