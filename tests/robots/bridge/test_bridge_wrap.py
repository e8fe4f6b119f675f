from pathlib import Path

import gymnasium
import numpy as np
import pyarrow.parquet as pq

from interlock.benchmarks.bridge_env import Arm
from interlock.operators.lerobot_dataset import problems_of, summary_of
from interlock.robots.bridge import wrap


def test_a_loop_of_ones_own_is_recorded(tmp_path: Path) -> None:
    with wrap(gymnasium.make("CartPole-v1"), tmp_path) as env:
        for seed in (1, 2):
            env.reset(seed=seed)
            ended = False
            while not ended:
                _, _, terminated, truncated, _ = env.step(1)
                ended = terminated or truncated
    assert problems_of(tmp_path) == []
    found = summary_of(tmp_path)
    assert (found["episodes"], found["robot_type"], found["fps"]) == (2, "CartPole-v1", 50)
    rows = pq.read_table(tmp_path / "data/chunk-000/file-000.parquet").to_pydict()
    assert set(rows["action"]) == {1.0}
    assert rows["next.done"][-1] is True


def test_cameras_are_recorded_and_a_reset_ends_the_episode(tmp_path: Path) -> None:
    with wrap(Arm(), tmp_path) as env:
        env.reset()
        for _ in range(3):
            env.step(np.zeros(7, np.float32))
        env.reset()
        env.step(np.zeros(7, np.float32))
    found = summary_of(tmp_path)
    assert (found["episodes"], found["frames"], len(found["cameras"])) == (2, 4, 2)
    assert problems_of(tmp_path) == []


def test_a_dataset_without_a_folder_goes_below_record_dir(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("RECORD_DIR", str(tmp_path))
    with wrap(gymnasium.make("CartPole-v1")) as env:
        env.reset(seed=1)
        env.step(0)
    assert env.folder.parent == tmp_path
    assert env.folder.name.startswith("CartPole-v1_")


def test_the_wrapped_environment_is_still_itself(tmp_path: Path) -> None:
    with wrap(gymnasium.make("CartPole-v1"), tmp_path) as env:
        assert env.action_space.n == 2
        assert env.spec.id == "CartPole-v1"
