"""Record the loop a user owns: wrap an environment, and every episode becomes a dataset episode."""

from __future__ import annotations

import logging
import os
import secrets
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.messages.contract import Contract
from interlock.operators.lerobot_dataset import DatasetError, DatasetWriter, Destination
from interlock.robots.bridge.gym_action import ActionMap
from interlock.robots.bridge.gym_observation import ObservationMap
from interlock.robots.bridge.gym_sim import control_rate, observation_space, prompt_of, success_of

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from interlock.operators.lerobot_dataset import EpisodeRecorder

_log = logging.getLogger(__name__)


class RecordedEnv:
    """An environment that behaves as before and records its episodes as it goes.

    A recording that fails is reported and ends; the loop goes on.

    Args:
        env: A gymnasium environment, not a batch.
        folder: Where the dataset goes; None makes one below RECORD_DIR.
        fps: Rows per second; None takes the environment's own rate.
    """

    def __init__(self, env: Any, folder: Path | None = None, *, fps: float | None = None) -> None:
        self._env = env
        self._observations = ObservationMap(observation_space(env))
        self._actions = ActionMap(env.action_space)
        spec = getattr(env, "spec", None)
        contract = Contract.from_json(
            {
                "robot_type": spec.id if spec is not None else type(env).__name__,
                "control_rate": control_rate(env, fps),
                "features": {**self._observations.features(), "action": self._actions.feature()},
            }
        )
        if folder is None:
            destination = Destination.from_environment(os.environ)
            tag = secrets.token_hex(2)
            folder = destination.new_dataset(contract.robot_type, now_s=time.time(), tag=tag)
        self.folder = folder
        self._writer = DatasetWriter(folder, contract)
        self._episode: EpisodeRecorder | None = None
        self._seen: Any = None

    def __getattr__(self, name: str) -> Any:
        """Look everything else up in the environment."""
        return getattr(self._env, name)

    def reset(self, **options: Any) -> tuple[Any, Any]:
        """Reset; an episode that was under way ends without success."""
        self._end(None)
        observation, info = self._env.reset(**options)
        self._seen = observation
        seed = options.get("seed")
        task = {key: value for key, value in options.items() if value is not None}
        self._episode = self._writer.episode(prompt_of(self._env, info, task), seed=seed)
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Step and record what led to what."""
        before, self._seen = self._seen, None
        stepped: tuple[Any, float, bool, bool, dict[str, Any]] = self._env.step(action)
        observation, reward, terminated, truncated, info = stepped
        ended = bool(terminated) or bool(truncated)
        try:
            self._record(before, action, float(reward), ended=ended)
            if ended:
                self._end(success_of(info), observation)
        except DatasetError as error:
            _log.error("this episode is not recorded: %s", error)
            self._episode = None
        self._seen = observation
        return stepped

    def close(self) -> None:
        """Finish the dataset and close the environment."""
        self._end(None)
        self._writer.close()
        self._env.close()

    def __enter__(self) -> Self:
        """Return the environment."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()

    def _record(self, before: Any, action: Any, reward: float, *, ended: bool) -> None:
        if self._episode is None:
            return
        # The environment may write its next observation into the arrays of this one.
        seen = {k: np.array(v) for k, v in self._observations.encode(before).items()}
        row = self._actions.encode(action)
        self._episode.add(
            seen, row, observed_ns=time.monotonic_ns(), reward=reward, terminated=ended
        )

    def _end(self, success: bool | None, terminal: Any = None) -> None:
        episode, self._episode = self._episode, None
        if episode is None:
            return
        shown = None if terminal is None else self._observations.encode(terminal)
        episode.end(shown, **({} if success is None else {"success": success}))


def wrap(env: Any, folder: Path | None = None, *, fps: float | None = None) -> RecordedEnv:
    """Return an environment that records every episode of the loop it is used in."""
    return RecordedEnv(env, folder, fps=fps)
