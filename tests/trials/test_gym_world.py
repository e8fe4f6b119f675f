"""A gymnasium environment in its own process as a world: it judges itself."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from trial_worlds import make_task

from interlock.robots.bridge.endpoint import gym
from interlock.trials.episode import Episode
from interlock.trials.errors import PreflightError, RefusedError
from interlock.trials.gym_suites import SUITES, GymSuites
from interlock.trials.gym_world import GymWorld
from interlock.trials.task import instantiate
from interlock.trials.verbs import VERBS

ENV = """
import gymnasium
import numpy as np


class Reach(gymnasium.Env):
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32)
    observation_space = gymnasium.spaces.Box(-10.0, 10.0, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = np.array([float(seed or 0), 0.0], np.float32)
        return self.at, {}

    def step(self, action):
        self.at = self.at + action
        reached = bool(self.at[0] >= 2.0)
        return self.at, 0.0, False, False, {"success": reached}
"""
FRONT = """\
title: reach
world: gym:test/reach
max_steps: 20
scenario: {objects: {}}
success: [{signal: {name: success}}]
solution: [done]
"""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[GymWorld]:
    (tmp_path / "reach_env.py").write_text(ENV)
    made = GymWorld("test/reach", lambda suite, task: gym(f"{tmp_path / 'reach_env.py'}:Reach"))
    yield made
    made.close()


def run(world: GymWorld, dx: float, steps: int) -> Episode:
    episode = Episode(instantiate(make_task(FRONT), seed=0), world, started_s=0.0)
    for _ in episode.start(VERBS["act"], {"action": [dx, 0.0], "repeat": steps}):
        episode.after_step(0.0)
    episode.end("done")
    return episode


def test_success_is_the_environments_own(world: GymWorld) -> None:
    verdict = run(world, 1.0, 3).judge()
    assert (verdict.success, verdict.steps) == (True, 3)


def test_without_its_word_nothing_is_solved(world: GymWorld) -> None:
    assert not run(world, 0.1, 3).judge().success


def test_limits_and_state_come_from_its_contract(world: GymWorld) -> None:
    episode = Episode(instantiate(make_task(FRONT), seed=0), world, started_s=0.0)
    info = world.info()
    assert (info.low, info.high) == ((-1.0, -1.0), (1.0, 1.0))
    with pytest.raises(RefusedError, match="the limits are -1 to 1"):
        episode.start(VERBS["act"], {"action": [5.0, 0.0]})
    with pytest.raises(RefusedError, match="moved by act alone"):
        episode.start(VERBS["move_to"], {"position": [0.0, 0.0, 0.0]})


def test_a_suite_that_is_not_installed_is_said_before_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLOCK_ENVS", str(tmp_path))
    assert GymSuites().ids() == []
    with pytest.raises(PreflightError, match="interlock env install metaworld"):
        GymWorld("metaworld/reach-v3")


def test_the_suites_name_as_many_tasks_as_they_have() -> None:
    counts = {name: len(tasks) for name, (tasks, _) in SUITES.items()}
    assert (counts["metaworld"], counts["libero"]) == (50, 40)
