"""What a test server answers: constant chunks, recorded ones, or a small motion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from interlock.policies.vla.errors import PolicyError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


class Behaviour(Protocol):
    """Turns an observation into a chunk of actions."""

    def act(self, observation: Mapping[str, Any], request: int) -> NDArray[np.float32]:
        """Return a chunk, shape (horizon, width), for request number ``request`` (from 0)."""
        ...


class Stub:
    """The same chunk for every observation."""

    def __init__(self, *, horizon: int = 10, width: int = 8, value: float = 0.0) -> None:
        self._chunk = np.full((horizon, width), value, np.float32)

    def act(self, observation: Mapping[str, Any], request: int) -> NDArray[np.float32]:
        """Return the chunk."""
        return self._chunk


class Replay:
    """Recorded chunks, one per request, from the start again after the last."""

    def __init__(self, chunks: NDArray[np.float32]) -> None:
        if chunks.ndim != 3 or 0 in chunks.shape:
            raise PolicyError(
                f"a recording is an array (requests, horizon, width), got {list(chunks.shape)}"
            )
        self._chunks = chunks

    @classmethod
    def load(cls, path: Path) -> Replay:
        """Read the array ``actions`` of an .npz file.

        Raises:
            PolicyError: If there is no such file or no such array.
        """
        try:
            with np.load(path, allow_pickle=False) as file:
                return cls(np.asarray(file["actions"], np.float32))
        except (OSError, KeyError, ValueError) as error:
            raise PolicyError(f"can't replay {path}: {error}") from error

    def act(self, observation: Mapping[str, Any], request: int) -> NDArray[np.float32]:
        """Return the next recorded chunk."""
        chunk: NDArray[np.float32] = self._chunks[request % len(self._chunks)]
        return chunk


class Scripted:
    """A slow sine about the state it is shown: absolute targets, safe to send to any robot.

    The state is the first vector found whose name ends in ``state`` or ``position``; columns it
    does not cover are 0.
    """

    def __init__(
        self, *, horizon: int = 10, width: int = 8, amplitude: float = 0.02, rows_per_turn: int = 50
    ) -> None:
        self._shape = (horizon, width)
        self._amplitude = amplitude
        self._rows_per_turn = rows_per_turn
        self._centre: NDArray[np.float32] | None = None

    def act(self, observation: Mapping[str, Any], request: int) -> NDArray[np.float32]:
        """Return the next part of the sine; its centre is the state of the first request."""
        horizon, width = self._shape
        if self._centre is None or request == 0:
            self._centre = np.zeros(width, np.float32)
            state = _find_state(observation)
            self._centre[: state.size] = state[:width]
        rows = request * horizon + np.arange(1, horizon + 1)
        wave = self._amplitude * np.sin(2 * np.pi * rows / self._rows_per_turn)
        return (self._centre + wave[:, np.newaxis]).astype(np.float32)


def _find_state(observation: Mapping[str, Any]) -> NDArray[np.float32]:
    for name, value in sorted(observation.items(), key=lambda item: str(item[0])):
        if isinstance(value, Mapping):
            found = _find_state(value)
            if found.size:
                return found
        elif str(name).endswith(("state", "position")) and not isinstance(value, str | bytes):
            return np.asarray(value, np.float32).reshape(-1)
    return np.zeros(0, np.float32)
