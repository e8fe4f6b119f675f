import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from interlock.cli.dataset import dataset as command
from interlock.messages.arrays_msgpack import unpack
from interlock.messages.contract import Contract
from interlock.operators.lerobot_dataset import (
    DatasetError,
    DatasetWriter,
    Destination,
    problems_of,
    repair,
    summary_of,
)
from interlock.operators.lerobot_dataset.schema import schema_of
from interlock.operators.lerobot_dataset.stats import ImageStats, column_stats, join_stats

CAMERA = {"role": "observation", "type": "rgb", "dtype": "uint8", "shape": [32, 48, 3]}
ROBOT = {
    "robot_type": "arm",
    "control_rate": 20,
    "features": {
        "observation/image": CAMERA,
        "observation/depth": {**CAMERA, "type": "depth", "shape": [32, 48]},
        "observation/state": {"role": "observation", "dtype": "float32", "shape": [2]},
        "action": {"role": "action", "shape": [2], "names": ["dx", "dy"]},
    },
}
CONTRACT = Contract.from_json(ROBOT)


def seen(step: int) -> dict:
    image = np.full((32, 48, 3), 10 * step, np.uint8)
    return {"observation/image": image, "observation/state": np.array([step, 0], np.float32)}


def record(writer: DatasetWriter, steps: int = 5, task: str = "lift", **outcome: object) -> None:
    episode = writer.episode(task, seed=7)
    for step in range(steps):
        episode.add(
            seen(step), np.array([step, -1], np.float32), observed_ns=step * 50_000_000, reward=0.5
        )
    episode.end(seen(steps), **outcome)
    writer.wait()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with DatasetWriter(tmp_path / "set", CONTRACT) as writer:
        record(writer, success=True)
        record(writer, 3, "place", success=False)
    return tmp_path / "set"


def test_a_recording_is_sound_and_says_what_it_holds(folder: Path) -> None:
    assert problems_of(folder) == []
    found = summary_of(folder)
    assert (found["episodes"], found["frames"], found["tasks"]) == (2, 8, ["lift", "place"])
    assert (found["successes"], found["graded"]) == (1, 2)


def test_rows_pair_each_observation_with_its_action(folder: Path) -> None:
    rows = pq.read_table(folder / "data/chunk-000/file-001.parquet").to_pydict()
    assert rows["observation.state"] == [[0, 0], [1, 0], [2, 0]]
    assert rows["action"] == [[0, -1], [1, -1], [2, -1]]
    assert rows["index"] == [5, 6, 7]
    assert rows["task_index"] == [1, 1, 1]
    np.testing.assert_allclose(rows["timestamp"], [0, 0.05, 0.1])
    assert rows["observed_ns"] == [0, 50_000_000, 100_000_000]


def test_info_is_what_lerobot_reads(folder: Path) -> None:
    info = json.loads((folder / "meta/info.json").read_text())
    assert (info["codebase_version"], info["fps"], info["splits"]) == (
        "v3.0",
        20,
        {"train": "0:2"},
    )
    image = info["features"]["observation.images.image"]
    assert (image["dtype"], image["shape"]) == ("video", [32, 48, 3])
    assert image["info"]["video.codec"] == "h264"


def test_images_have_statistics_per_channel(folder: Path) -> None:
    stats = json.loads((folder / "meta/stats.json").read_text())
    image = stats["observation.images.image"]
    assert np.shape(image["mean"]) == (3, 1, 1)
    assert 0 <= image["min"][0][0][0] <= image["mean"][0][0][0] <= 1
    assert stats["action"]["max"] == [4, -1]
    assert stats["action"]["count"] == [8]


def test_what_lerobot_has_no_place_for_is_kept(folder: Path) -> None:
    extras = unpack((folder / "interlock/episode-000000.msgpack").read_bytes())
    assert extras["terminal"]["observation/state"].tolist() == [5, 0]
    about = json.loads((folder / "meta/interlock.json").read_text())
    assert about["contract"] == ROBOT
    assert about["left_out"] == {"observation/depth": "depth does not survive 8-bit video"}
    record = pq.read_table(folder / "meta/episodes/chunk-000/file-000.parquet").to_pylist()[0]
    assert (record["interlock/success"], record["interlock/seed"]) == (True, 7)
    assert record["interlock/total_reward"] == 2.5


def test_frames_come_back_in_order(folder: Path) -> None:
    import av

    with av.open(str(folder / "videos/observation.images.image/chunk-000/file-000.mp4")) as video:
        frames = [(f.time, f.to_ndarray(format="rgb24").mean()) for f in video.decode(video=0)]
    np.testing.assert_allclose([t for t, _ in frames], np.arange(5) / 20, atol=1e-4)
    np.testing.assert_allclose([m for _, m in frames], 10 * np.arange(5), atol=3)


def test_missed_and_repeated_observations_are_counted(tmp_path: Path) -> None:
    with DatasetWriter(tmp_path, CONTRACT) as writer:
        episode = writer.episode("jitter")
        for step, at_ms in enumerate((0, 52, 52, 98, 498, 551)):
            episode.add(seen(step), np.zeros(2, np.float32), observed_ns=at_ms * 1_000_000)
        episode.end()
    found = summary_of(tmp_path)
    assert (found["duplicates"], found["drops"]) == (1, 7)
    assert problems_of(tmp_path) == []


def test_a_recording_goes_on_where_it_ended(folder: Path) -> None:
    with DatasetWriter(folder, CONTRACT) as writer:
        record(writer, 2, "lift")
    rows = pq.read_table(folder / "data/chunk-000/file-002.parquet").to_pydict()
    assert (rows["index"], rows["task_index"]) == ([8, 9], [0, 0])
    assert problems_of(folder) == []


def test_another_robot_does_not_go_into_the_same_folder(folder: Path) -> None:
    other = Contract.from_json({**ROBOT, "control_rate": 30})
    with pytest.raises(DatasetError, match="another fps; use another folder"):
        DatasetWriter(folder, other)


def test_an_aborted_episode_leaves_nothing(folder: Path) -> None:
    with DatasetWriter(folder, CONTRACT) as writer:
        episode = writer.episode("lift")
        episode.add(seen(0), np.zeros(2, np.float32))
        episode.abort()
    assert summary_of(folder)["episodes"] == 2
    assert problems_of(folder) == []


def test_keys_can_be_those_a_policy_was_trained_with(tmp_path: Path) -> None:
    schema = schema_of(CONTRACT, key_map={"observation/image": "observation.images.top"})
    assert [camera.key for camera in schema.cameras] == ["observation.images.top"]
    with pytest.raises(DatasetError, match="no observation observation/imag;"):
        schema_of(CONTRACT, key_map={"observation/imag": "x"})


def test_a_frame_that_cannot_be_encoded_surfaces_and_is_kept(tmp_path: Path) -> None:
    writer = DatasetWriter(tmp_path, CONTRACT)
    episode = writer.episode("lift")
    episode.add(seen(0), np.zeros(2, np.float32))
    wrong = {**seen(1), "observation/image": np.zeros((0, 48, 3), np.uint8)}
    episode.add(wrong, np.zeros(2, np.float32))
    with pytest.raises(DatasetError, match="encoding failed"):
        writer.wait()
    assert list((tmp_path / "broken").rglob("frame-000001.npy"))
    writer.close()


KILLED = """
import sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from test_dataset_writer import CONTRACT, DatasetWriter, record, seen
import numpy as np
writer = DatasetWriter(Path({folder!r}), CONTRACT)
for episode in range(5):
    record(writer)
    print("saved", flush=True)
episode = writer.episode("lift")
while True:
    episode.add(seen(1), np.zeros(2, np.float32))
"""


def test_episodes_that_ended_survive_kill_9(tmp_path: Path) -> None:
    program = KILLED.format(tests=str(Path(__file__).parent), folder=str(tmp_path / "set"))
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert child.stdout is not None
    for _ in range(5):
        assert child.stdout.readline() == b"saved\n"
    time.sleep(0.1)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    assert problems_of(tmp_path / "set") == []
    assert summary_of(tmp_path / "set")["episodes"] == 5


def test_what_an_unfinished_episode_left_is_removed(folder: Path) -> None:
    orphan = folder / "data/chunk-000/file-002.parquet"
    orphan.write_bytes((folder / "data/chunk-000/file-001.parquet").read_bytes())
    (folder / "meta/info.json").write_text("{")
    assert "not JSON" in problems_of(folder)[0]
    mended = repair(folder)
    assert "removed data/chunk-000/file-002.parquet" in mended[0]
    assert problems_of(folder) == []
    assert repair(folder) == []


def test_check_names_what_is_wrong(folder: Path) -> None:
    video = folder / "videos/observation.images.image/chunk-000/file-000.mp4"
    video.write_bytes(video.read_bytes()[:200])
    (folder / "data/chunk-000/file-001.parquet").unlink()
    result = CliRunner().invoke(command, ["check", str(folder)])
    assert result.exit_code == 1
    assert "not a readable video" in result.output
    assert "episode 1: rows can't be read" in result.output


def test_the_commands_print_what_a_dataset_holds(folder: Path) -> None:
    assert "sound, 2 episodes" in CliRunner().invoke(command, ["check", str(folder)]).output
    assert "nothing to mend" in CliRunner().invoke(command, ["repair", str(folder)]).output
    shown = CliRunner().invoke(command, ["info", str(folder)]).output
    assert "1 of 2 graded episodes succeeded" in shown
    assert CliRunner().invoke(command, ["push", str(folder)], env={"HF_REPO": ""}).exit_code == 2


def test_the_destination_comes_from_the_environment() -> None:
    here = Destination.from_environment({"RECORD_DIR": "/r", "HF_REPO": "me", "HF_PRIVATE": "0"})
    assert (here.folder, here.repository, here.private) == (Path("/r"), "me", False)
    assert Destination.from_environment({}).private is True
    name = here.new_dataset("panda/v2", now_s=0, tag="ab12").name
    assert name == "panda_v2_19700101_000000_ab12"


def test_joined_statistics_are_those_of_all_rows() -> None:
    rows = np.random.default_rng(0).normal(size=(90, 3))
    joined = join_stats([column_stats(rows[:20]), column_stats(rows[20:])])
    whole = column_stats(rows)
    for name in ("min", "max", "mean", "std", "count"):
        np.testing.assert_allclose(joined[name], whole[name])


def test_image_statistics_are_those_of_the_pixels() -> None:
    image = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
    stats = ImageStats()
    stats.add(image)
    found = stats.result()
    np.testing.assert_allclose(found["mean"].ravel(), image.mean(axis=(0, 1)) / 255)
    np.testing.assert_allclose(found["std"].ravel(), image.std(axis=(0, 1)) / 255)
