"""A gymnasium environment that is already a batch, as one `RobotBridge` with slots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.robots.bridge.faults import BridgeError
from interlock.robots.bridge.gym_action import ActionMap
from interlock.robots.bridge.gym_observation import ObservationMap, first_row, space_of
from interlock.robots.bridge.gym_sim import control_rate, prompt_of, success_of
from interlock.robots.bridge.robot import RobotBridge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from interlock.robots.bridge.gym_target import Target


class GymBatch(RobotBridge):
    """Drives an environment with ``num_envs`` rows that steps as a whole."""

    def __init__(self, target: Target, contract: Mapping[str, Any] | None = None) -> None:
        self._target = target
        self._env = target.make(target.build)
        self.num_slots = int(self._env.num_envs)
        self._observations = ObservationMap(_single(self._env, "observation_space"))
        self._actions = ActionMap(_single(self._env, "action_space"))
        self._given = contract
        self._seen: tuple[Any, Any, Any] | None = None
        self._success: dict[int, bool] = {}
        self._done = np.zeros(self.num_slots, bool)

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
        """Reset every row."""
        build, seed, options = self._target.split(task)
        if build != self._target.build:
            raise BridgeError(f"a batch keeps its build arguments {self._target.build!r}")
        observation, info = self._env.reset(seed=seed, options=options)
        self._success, self._done = {}, np.zeros(self.num_slots or 1, bool)
        self._seen = (observation, self._done.astype(np.float32), self._done)
        return prompt_of(self._env, info, task)

    @property
    def can_reset_slots(self) -> bool:
        """True for gymnasium vector environments that leave the reset to us."""
        mode = (getattr(self._env, "metadata", None) or {}).get("autoreset_mode")
        return getattr(mode, "value", mode) == "Disabled"

    def reset_slots(self, slots: Sequence[int], **task: Any) -> str:
        """Reset some rows through gymnasium's ``reset_mask``."""
        _, seed, options = self._target.split(task)
        mask = np.isin(np.arange(self.num_slots or 1), slots)
        seeds = [seed if chosen else None for chosen in mask]
        observation, info = self._env.reset(
            seed=seeds, options={**(options or {}), "reset_mask": mask}
        )
        self._done = self._done & ~mask
        for slot in slots:
            self._success.pop(slot, None)
        self._seen = (observation, np.zeros(mask.size, np.float32), self._done)
        return prompt_of(self._env, info, task)

    def check_action(self, action: NDArray[np.float32]) -> None:
        """Raise if a discrete choice is no whole number."""
        self._actions.decode(action)

    def step(self, action: NDArray[np.float32]) -> None:
        """Step every row; a row that ended keeps what it showed at its end."""
        rows = [self._actions.decode(row) for row in action]
        stepped = self._env.step(np.stack([np.asarray(row) for row in rows]))
        observation, reward, terminated, truncated, info = stepped
        ended = np.asarray(terminated, bool) | np.asarray(truncated, bool)
        for slot in np.flatnonzero(ended & ~self._done):
            found = success_of(info, int(slot))
            if found is not None:
                self._success[int(slot)] = found
        self._done = self._done | ended
        self._seen = (_with_final(observation, info, ended), reward, self._done)

    def get_observation(self) -> tuple[Mapping[str, Any], Any]:
        """Return every row of what the environment showed last."""
        if self._seen is None:
            raise BridgeError("reset comes before the first observation")
        observation, reward, ended = self._seen
        return {**self._observations.encode(observation), "reward": reward}, ended

    def result(self, slot: int) -> Mapping[str, Any]:
        """Return the success of a row."""
        return {"success": self._success[slot]} if slot in self._success else {}

    def close(self) -> None:
        """Close the environment."""
        self._env.close()


def _single(env: Any, name: str) -> Any:
    """Return the space of one row; a batch that has none offers the batched one, row 0 of it."""
    single = getattr(env, f"single_{name}", None)
    if single is not None:
        return single
    import gymnasium

    space = getattr(env, name, None)
    if space is None and name == "observation_space":
        observation, _ = env.reset()
        return space_of(first_row(observation))
    if isinstance(space, gymnasium.spaces.Box):
        return gymnasium.spaces.Box(space.low[0], space.high[0], space.shape[1:], space.dtype)
    raise BridgeError(f"give the batch a single_{name}")


def _with_final(observation: Any, info: Any, ended: NDArray[np.bool_]) -> Any:
    """Put the last observation of a row back where an automatic reset replaced it."""
    final = info.get("final_obs", info.get("final_observation")) if isinstance(info, dict) else None
    if final is None:
        return observation
    rows = np.flatnonzero(ended)
    if isinstance(observation, dict):
        return {key: _patch(value, final, rows, key) for key, value in observation.items()}
    return _patch(observation, final, rows, None)


def _patch(value: Any, final: Any, rows: NDArray[np.intp], key: Any) -> Any:
    patched = np.array(value)
    for row in rows:
        source = final[key][row] if isinstance(final, dict) else final[row]
        if source is None:
            continue
        patched[row] = source[key] if isinstance(source, dict) and key is not None else source
    return patched
