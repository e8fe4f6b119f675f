"""What decides: a model takes a batch of adapted observations and returns chunks of actions."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.policies.robot.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray


class Model:
    """A policy network or any other function of an observation.

    A subclass writes `infer`. With ``batchable = True`` it receives every array with a leading
    dimension N and returns ``[N, T, A]``; otherwise it receives one observation and returns
    ``[T, A]`` (or ``[1, T, A]``).
    """

    batchable: bool = False

    def infer(self, batch: Mapping[str, Any]) -> Any:
        """Return chunks of actions; runs on a worker thread."""
        raise NotImplementedError

    async def ainfer(self, observation: Mapping[str, Any]) -> NDArray[np.float32]:
        """Return the chunk of one observation, shape (T, A)."""
        batch = stack([observation]) if self.batchable else observation
        chunk: NDArray[np.float32] = rows(await asyncio.to_thread(self.infer, batch), 1)[0]
        return chunk

    def reset(self) -> None:
        """Forget what belongs to the episode before."""


class FunctionModel(Model):
    """A function as a model."""

    def __init__(
        self, function: Callable[[Mapping[str, Any]], Any], *, batchable: bool = False
    ) -> None:
        self._function = function
        self.batchable = batchable

    def infer(self, batch: Mapping[str, Any]) -> Any:
        """Call the function."""
        return self._function(batch)


def rows(result: Any, count: int) -> NDArray[np.float32]:
    """Return what a model gave as float32 of shape (count, T, A).

    ``[A]`` is one action and ``[T, A]`` one chunk, both only for one observation.

    Raises:
        ModelError: Another shape, or not finite numbers.
    """
    if hasattr(result, "detach"):
        result = result.detach().to("cpu").float().numpy()
    try:
        array = np.asarray(result, np.float32)
    except (TypeError, ValueError) as error:
        raise ModelError(f"the model returned no array of numbers: {error}") from error
    if array.ndim < 3 and count == 1:
        array = array.reshape((1,) * (3 - array.ndim) + array.shape)
    if array.ndim != 3 or array.shape[0] != count or 0 in array.shape:
        raise ModelError(
            f"the model returned shape {list(array.shape)} for {count} observations; "
            f"expected [{count}, T, A]"
        )
    return array


def stack(observations: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Return one batch: arrays and tensors get a leading dimension, other values become lists."""
    first = observations[0]
    return {key: _stack_one([o[key] for o in observations]) for key in first}


def _stack_one(values: list[Any]) -> Any:
    first = values[0]
    if isinstance(first, np.ndarray | np.generic):
        return np.stack(values)
    if hasattr(first, "detach") and hasattr(first, "unsqueeze"):
        import torch

        return torch.stack(values)
    if isinstance(first, dict):
        return stack(values)
    return list(values)


def signature(observation: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what two observations must share to go into one batch: keys, shapes, dtypes."""
    parts: list[tuple[Any, ...]] = []
    for key in sorted(observation):
        value = observation[key]
        if isinstance(value, dict):
            parts.append((key, signature(value)))
        elif hasattr(value, "shape"):
            parts.append((key, tuple(value.shape), str(value.dtype)))
        else:
            parts.append((key, type(value).__name__))
    return tuple(parts)
