"""An operator's stop, from another process, ends a running trial; nothing moves after it (D03)."""

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from trial_worlds import slow_server

from interlock.gate.control import running_gates
from interlock.trials.library import load
from interlock.trials.plan import Plan
from interlock.trials.runner import run_trial

STOP = [sys.executable, "-m", "interlock.cli.main", "stop", "--reason", "hand in the way"]
Begin = Callable[..., Any]


class Running:
    """A trial in a thread of its own."""

    def __init__(self, plan: Plan) -> None:
        self.result: dict[str, Any] = {}
        self._thread = threading.Thread(target=lambda: self.result.update(run_trial(plan)))
        self._thread.start()

    def stop(self) -> subprocess.CompletedProcess[str]:
        while not running_gates():
            assert self._thread.is_alive()
            time.sleep(0.01)
        return subprocess.run(STOP, capture_output=True, text=True, check=False)

    def ended(self) -> dict[str, Any]:
        self._thread.join(60.0)
        assert not self._thread.is_alive()
        return self.result


@pytest.fixture
def begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Begin]:
    # A socket's path may have about 100 characters: pytest's own folder is too long.
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield lambda task, **options: Running(Plan(task=load(task), out=tmp_path, **options))


def test_stop_ends_a_running_trial_as_stopped_and_no_command_follows(begin: Begin) -> None:
    trial = begin("arc-opposite", harness="oracle")
    said = trial.stop()
    result = trial.ended()
    assert said.returncode == 0, said.stderr
    assert (result["status"], result["reward"], result["outcome"]) == ("stopped", None, "stopped")
    assert result["exception"]["message"].endswith("hand in the way")
    stop = result["agent"]["stop"]
    assert (stop["gate"], stop["at_rest"], stop["commands_after"]) == ("stopped", True, 0)


def test_stop_while_a_policy_warms_up_ends_the_trial_without_one_command(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    with slow_server(60.0) as url:
        monkeypatch.setenv("INTERLOCK_VLA_URL", url)
        trial = begin("cups-place", harness="vla")
        said = trial.stop()
        result = trial.ended()
    assert said.returncode == 0, said.stderr
    assert (result["status"], result["steps"]) == ("stopped", 0)
    stop = result["agent"]["stop"]
    assert (stop["commands_before"], stop["commands_after"], stop["had_the_arm"]) == (0, 0, "")


def test_a_stopped_trial_leaves_no_door_behind(begin: Begin) -> None:
    trial = begin("arc-opposite", harness="oracle")
    trial.stop()
    trial.ended()
    assert running_gates() == {}


def test_no_further_trial_of_a_set_begins_after_a_stop(begin: Begin, tmp_path: Path) -> None:
    del begin  # its folder for sockets
    words = ["run-many", "--task", "arc-opposite", "--seeds", "0-9", "--harness", "oracle"]
    with subprocess.Popen(
        [sys.executable, "-m", "interlock.cli.main", *words, "--out", str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        while not any(name.startswith("trial-") for name in running_gates()):
            assert process.poll() is None
            time.sleep(0.01)
        subprocess.run(STOP, check=True, capture_output=True)
        said, _ = process.communicate(timeout=60.0)
    assert (process.returncode, said.count("stopped by")) == (1, 1)
    results = [json.loads(p.read_text()) for p in tmp_path.rglob("result.json")]
    assert [r["status"] for r in results] == ["stopped"]
