"""A run of the default graph on simulated time becomes a LeRobot dataset."""

from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
import yaml
from click.testing import CliRunner

from interlock.cli.dataset import dataset
from interlock.messages import SettingsError
from interlock.nodes._lockstep import Lockstep
from interlock.operators.lerobot_dataset import problems_of, summary_of

FLOWS = Path(__file__).parents[2] / "configs" / "dataflows"


def record(folder, seconds, **env):
    dataflow = yaml.safe_load((FLOWS / "record.yml").read_text())
    extra = {"recorder": env}
    run = Lockstep(dataflow, dataflow_dir=FLOWS, run_dir=folder, extra_env=extra, seed=3)
    run.start()
    run.run_until(seconds * 1_000_000_000)
    run.stop()
    assert not run.failures
    return run.node("recorder").folder


def rows_of(root):
    files = sorted(root.glob("data/**/*.parquet"))
    return pyarrow.parquet.read_table(files[0]).to_pydict()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return record(tmp_path_factory.mktemp("whole"), 60)


def test_a_whole_run_is_one_episode_that_passes_the_check_and_knows_its_success(whole):
    assert problems_of(whole) == []
    found = summary_of(whole)
    assert found["episodes"] == 1
    assert found["frames"] > 30
    assert found["successes"] == 1
    assert found["tasks"] == ["put the red cup on the tray"]
    answer = CliRunner().invoke(dataset, ["check", str(whole)])
    assert answer.exit_code == 0, answer.output


def test_the_action_of_a_row_is_where_the_arm_was_told_to_be_next(whole):
    rows = rows_of(whole)
    actions = np.array(rows["action"])[:, :7]
    key = next(k for k in rows if "joint_position" in k)
    joints = np.array(rows[key])
    assert np.abs(actions[:-1] - joints[1:]).max() < 0.05
    assert np.ptp(actions, axis=0).max() > 0.3


def test_only_the_last_row_is_done(whole):
    done = rows_of(whole)["next.done"]
    assert done[-1]
    assert not any(done[:-1])


def test_every_row_keeps_its_true_capture_time(whole):
    observed = np.array(rows_of(whole)["observed_ns"])
    steps = np.diff(observed) / 1e6
    assert np.all(steps >= 0)
    assert np.median(steps) == pytest.approx(100, abs=1)


def test_every_task_of_the_gate_is_an_episode_of_its_own_with_its_name(tmp_path):
    root = record(tmp_path, 60, EPISODE="task", TASK="")
    assert problems_of(root) == []
    found = summary_of(root)
    assert found["episodes"] >= 2
    assert found["successes"] == found["episodes"]
    assert any("cup_red" in task for task in found["tasks"])


def test_a_dataset_of_a_name_is_continued(tmp_path):
    parent = tmp_path / "data"
    for run in ("one", "two"):
        root = record(tmp_path / run, 2, RECORD_DIR=str(parent), DATASET="cups")
    assert root == parent / "cups"
    assert problems_of(root) == []
    assert summary_of(root)["episodes"] == 2


def test_the_key_map_names_the_columns(tmp_path):
    keys = '{"observation/front": "observation.images.top"}'
    root = record(tmp_path, 1, KEY_MAP=keys)
    assert summary_of(root)["cameras"] == ["observation.images.top"]
    with pytest.raises(SettingsError, match="KEY_MAP"):
        record(tmp_path / "bad", 1, KEY_MAP="[1]")
