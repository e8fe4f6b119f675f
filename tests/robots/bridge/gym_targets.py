"""Environments that the gym tests serve."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces


class Odd(gymnasium.Env):
    """Every kind of observation that a naive derivation gets wrong."""

    metadata: ClassVar[dict] = {"render_fps": 25}
    instruction = "look at everything"

    def __init__(self, size: int = 16) -> None:
        box = spaces.Box
        arm = spaces.Dict({"q": box(-1, 1, (2,), np.float64)})
        self.observation_space = spaces.Dict(
            {
                "left": arm,
                "right": arm,
                "chw": box(0, 255, (3, size, size + 1), np.uint8),
                "hwc": box(0, 255, (size, size, 3), np.uint8),
                "gray": box(0, 255, (size, size), np.uint8),
                "depth": box(0, 9, (size, size), np.float32),
                "touch": spaces.MultiBinary(3),
                "mode": spaces.Discrete(4),
                "reward": box(-1, 1, (1,), np.float32),
                "note": spaces.Text(20),
            }
        )
        self.action_space = spaces.Dict(
            {"move": box(-1, 1, (2,), np.float32), "grip": spaces.Discrete(2)}
        )
        self.acted: list[Any] = []

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple:
        super().reset(seed=seed)
        self.level = (options or {}).get("level", 0)
        return self._seen(), {}

    def step(self, action: Any) -> tuple:
        self.acted.append(action)
        ended = len(self.acted) >= 2
        return self._seen(), 1.5, False, ended, {"is_success": bool(action["grip"])}

    def _seen(self) -> dict:
        self.observation_space.seed(0)
        seen = self.observation_space.sample()
        return {**seen, "mode": np.int64(self.level), "note": "hello"}


def make_odd(size: int = 16) -> Odd:
    return Odd(size)


def needs(width: int) -> Odd:
    return Odd(width)


def no_spec() -> Odd:
    return Odd()
