"""A gymnasium environment as a `RobotBridge`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.robots.bridge.faults import BridgeError
from interlock.robots.bridge.gym_action import ActionMap
from interlock.robots.bridge.gym_observation import ObservationMap, space_of
from interlock.robots.bridge.robot import RobotBridge

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from interlock.robots.bridge.gym_target import Target

_SUCCESS_KEYS = ("success", "is_success", "task_success")


class GymRobot(RobotBridge):
    """Drives one environment; a changed build argument rebuilds it at the next reset."""

    def __init__(self, target: Target, contract: Mapping[str, Any] | None = None) -> None:
        self._target = target
        self._build = dict(target.build)
        self._env = target.make(self._build)
        self._observations = ObservationMap(observation_space(self._env))
        self._actions = ActionMap(self._env.action_space)
        self._given = contract
        self._seen: tuple[Any, float, bool] | None = None
        self._success: bool | None = None

    def describe(self) -> Mapping[str, Any]:
        """Return the given contract, or the one the spaces imply."""
        if self._given is not None:
            return self._given
        return {
            "version": "v0",
            "robot_type": self._target.name,
            "control_rate": control_rate(self._env, self._target.fps),
            "features": {**self._observations.features(), "action": self._actions.feature()},
        }

    def reset(self, **task: Any) -> str:
        """Rebuild if a build argument changed, then reset with the episodic ones."""
        build, seed, options = self._target.split(task)
        if build != self._build:
            self._env.close()
            self._env, self._build = self._target.make(build), build
        observation, info = self._env.reset(seed=seed, options=options)
        self._seen, self._success = (observation, 0.0, False), None
        return prompt_of(self._env, info, task)

    def check_action(self, action: NDArray[np.float32]) -> None:
        """Raise if a discrete choice is no whole number."""
        self._actions.decode(action)

    def step(self, action: NDArray[np.float32]) -> None:
        """Step the environment once."""
        stepped = self._env.step(self._actions.decode(action))
        observation, reward, terminated, truncated, info = stepped
        ended = bool(terminated) or bool(truncated)
        found = success_of(info)
        if found is not None and (ended or found):
            self._success = found
        self._seen = (observation, float(reward), ended)

    def get_observation(self) -> tuple[Mapping[str, Any], bool]:
        """Return what the environment showed last."""
        if self._seen is None:
            raise BridgeError("reset comes before the first observation")
        observation, reward, ended = self._seen
        return {**self._observations.encode(observation), "reward": reward}, ended

    def result(self, slot: int) -> Mapping[str, Any]:
        """Return success if the environment ever said so; else the reward is the score."""
        return {} if self._success is None else {"success": self._success}

    def close(self) -> None:
        """Close the environment."""
        self._env.close()


def control_rate(env: Any, fps: float | None) -> float:
    """Return the control rate: asked for, or what the environment says, or 10 Hz."""
    metadata = getattr(env, "metadata", None) or {}
    rate = fps or metadata.get("render_fps")
    step_dt = getattr(getattr(env, "unwrapped", env), "step_dt", None)
    if rate is None and step_dt:
        rate = 1.0 / float(step_dt)
    return float(rate or 10.0)


def prompt_of(env: Any, info: Any, task: Mapping[str, Any]) -> str:
    """Return the task in words: the environment's own, or the arguments of the reset."""
    inner = getattr(env, "unwrapped", env)
    places = (info, getattr(inner, "cfg", None), env, inner)
    for place in places:
        for name in ("task_description", "instruction", "language_instruction"):
            text = place.get(name) if isinstance(place, dict) else _attribute(place, name)
            if isinstance(text, str) and text:
                return text
    return ", ".join(f"{key}={value}" for key, value in task.items()) or "run the task"


def success_of(info: Any, row: int | None = None) -> bool | None:
    """Return the success an environment reports, of one row if it is a batch."""
    final = info.get("final_info") if row is not None else None
    for place in (final, info):
        if not isinstance(place, dict):
            continue
        for name in _SUCCESS_KEYS:
            if name in place:
                value = np.asarray(place[name]).reshape(-1)
                return bool(value[row if row is not None and value.size > row else 0])
    return None


def _attribute(place: Any, name: str) -> Any:
    # gymnasium wrappers warn when an attribute is looked up through them.
    return place.__dict__.get(name, getattr(type(place), name, None)) if place is not None else None


def observation_space(env: Any) -> Any:
    """Return the space of the observations, from one of them if the environment declares none."""
    space = getattr(env, "observation_space", None)
    if space is not None:
        return space
    observation, _ = env.reset()
    return space_of(observation)
