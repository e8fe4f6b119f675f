"""A robot whose task is to bring x to 1: success when it is there."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np


class Reach(gymnasium.Env):
    metadata: ClassVar[dict] = {"render_fps": 20}
    task_description = "bring x to 1"

    def __init__(self) -> None:
        box = gymnasium.spaces.Box
        self.observation_space = gymnasium.spaces.Dict(
            {
                "observation/image": box(0, 255, (32, 40, 3), np.uint8),
                "observation/state": box(-9, 9, (2,), np.float32),
            }
        )
        self.action_space = box(-1, 1, (2,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple:
        super().reset(seed=seed)
        self.x = self.np_random.uniform(-1, 0)
        self.t = 0
        return self._seen(), {}

    def step(self, action: np.ndarray) -> tuple:
        self.x += 0.25 * float(action[0])
        self.t += 1
        there = abs(self.x - 1) < 0.15
        return self._seen(), -abs(self.x - 1), there, self.t >= 60, {"success": there}

    def _seen(self) -> dict:
        image = np.full((32, 40, 3), self.t, np.uint8)
        return {
            "observation/image": image,
            "observation/state": np.array([self.x, self.t], np.float32),
        }


def make() -> Reach:
    return Reach()
