"""A trial's video: its length is simulated time, whatever the world."""

from pathlib import Path

import av
import pytest

from interlock.trials.errors import PreflightError
from interlock.trials.library import load
from interlock.trials.plan import Plan, VideoOptions
from interlock.trials.runner import run_trial


@pytest.mark.parametrize("task", ["cubepick-sort", "cups-first"])
def test_every_fifth_control_step_is_a_picture(task: str, tmp_path: Path) -> None:
    video = VideoOptions(width=64, height=48, fps=10)
    plan = Plan(task=load(task), harness="oracle", out=tmp_path, video=video)
    result = run_trial(plan)
    assert result["film"] == {"frames": result["steps"] // 5, "dropped": 0}
    with av.open(str(tmp_path / plan.name() / "video.mp4")) as container:
        stream = container.streams.video[0]
        assert (stream.frames, stream.width, stream.height) == (result["steps"] // 5, 64, 48)


def test_an_odd_size_is_refused_before_the_start(tmp_path: Path) -> None:
    video = VideoOptions(width=65, height=48)
    with pytest.raises(PreflightError, match="even"):
        run_trial(Plan(task=load("cubepick-sort"), harness="oracle", out=tmp_path, video=video))
