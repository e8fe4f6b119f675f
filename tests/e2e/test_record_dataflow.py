"""configs/dataflows/record.yml under dora: the dataset of a real run is sound."""

from pathlib import Path

import pytest

from interlock.operators.lerobot_dataset import problems_of, summary_of

pytestmark = pytest.mark.dora

FILE = Path(__file__).parents[2] / "configs/dataflows/record.yml"


def test_a_run_leaves_a_sound_dataset_and_the_folder_is_told(start, tmp_path):
    run = start(FILE, RECORD_DIR=str(tmp_path / "data"))
    run.end(within_s=60)
    assert run.left_behind() == []
    [root] = (tmp_path / "data").iterdir()
    assert str(root) in run.output
    assert problems_of(root) == []
    found = summary_of(root)
    assert (found["episodes"], found["graded"]) == (1, 1)
    assert found["frames"] > 10
    assert found["tasks"] == ["put the red cup on the tray"]
