"""Environments whose steps cost nothing, so that only the bridge is measured.

Two cameras of 224 x 224 x 3 (gradient, boxes, sensor noise), state of 8 numbers, action of 7;
every step shows new frames. Needs only numpy and gymnasium: the peer serves the same file.
"""

from __future__ import annotations

import os
from typing import Any, ClassVar

import gymnasium
import numpy as np

SIDE, STATE, ACTION = 224, 8, 7
CAMERAS = ("observation/image", "observation/wrist_image")
EPISODE = int(os.environ.get("BRIDGE_BENCH_STEPS", "1000000000"))


def picture(seed: int) -> np.ndarray:
    """Return a frame that compresses like a rendered one, shape (224, 224, 3), uint8."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[0:SIDE, 0:SIDE].astype(np.float32) / SIDE
    frame = np.stack([columns * 180 + 30, rows * 160 + 40, (rows + columns) * 60 + 60], -1)
    for _ in range(8):
        top, left = rng.integers(0, SIDE - 40, 2)
        frame[top : top + 40, left : left + 40] = rng.integers(0, 255, 3)
    return np.clip(frame + rng.normal(0, 2, frame.shape), 0, 255).astype(np.uint8)


class Arm(gymnasium.Env):  # type: ignore[misc]
    """One robot."""

    metadata: ClassVar[dict[str, Any]] = {"render_fps": 20}
    task_description = "move the arm"

    def __init__(self) -> None:
        spaces: dict[str, Any] = {
            name: gymnasium.spaces.Box(0, 255, (SIDE, SIDE, 3), np.uint8) for name in CAMERAS
        }
        spaces["observation/state"] = gymnasium.spaces.Box(-np.inf, np.inf, (STATE,), np.float32)
        self.observation_space = gymnasium.spaces.Dict(spaces)
        self.action_space = gymnasium.spaces.Box(-1, 1, (ACTION,), np.float32)
        self._frames = {name: picture(i) for i, name in enumerate(CAMERAS)}
        self._step = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        """Start again."""
        self._step = 0
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Show the next frames."""
        self._step += 1
        ended = self._step >= EPISODE
        return self._seen(), 0.0, ended, False, {"success": True} if ended else {}

    def _seen(self) -> dict[str, Any]:
        shift = self._step % SIDE
        frames = {name: np.roll(frame, shift, axis=0) for name, frame in self._frames.items()}
        return {**frames, "observation/state": np.full(STATE, self._step, np.float32)}


class Arms:
    """A batch that steps together, as simulators on accelerators do."""

    metadata: ClassVar[dict[str, Any]] = {"render_fps": 20}
    task_description = "move the arms"

    def __init__(self, num_envs: int) -> None:
        self.num_envs = num_envs
        self.single_action_space = gymnasium.spaces.Box(-1, 1, (ACTION,), np.float32)
        self.action_space = gymnasium.spaces.Box(-1, 1, (num_envs, ACTION), np.float32)
        self._frames = {
            name: np.stack([picture(i + 2 * row) for row in range(num_envs)])
            for i, name in enumerate(CAMERAS)
        }
        self._step = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        """Start every row again."""
        self._step = 0
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, ...]:
        """Show the next frames of every row."""
        self._step += 1
        ended = np.full(self.num_envs, self._step >= EPISODE)
        info = {"success": ended} if ended.any() else {}
        reward = np.zeros(self.num_envs, np.float32)
        return self._seen(), reward, ended, np.zeros_like(ended), info

    def close(self) -> None:
        """Nothing to close."""

    def _seen(self) -> dict[str, Any]:
        shift = self._step % SIDE
        frames = {name: np.roll(frame, shift, axis=1) for name, frame in self._frames.items()}
        state = np.full((self.num_envs, STATE), self._step, np.float32)
        return {**frames, "observation/state": state}


def make_arm() -> Arm:
    """Return one robot."""
    return Arm()


def make_arms(num_envs: int = 4) -> Arms:
    """Return a batch."""
    return Arms(num_envs)
