"""The commands `run`, `run-many`, `report`, `summarize`, `tasks` and `robo` as scripts use them."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from interlock.cli.main import cli
from interlock.messages.errors import InterlockError


@pytest.fixture(autouse=True)
def _own_key(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOCK_STATE", str(tmp_path_factory.getbasetemp() / "state"))
    monkeypatch.setenv("INTERLOCK_RETRY_WAIT_S", "0.05")
    monkeypatch.setenv("INTERLOCK_SANDBOX", "0")


@dataclass
class Done:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


def interlock(*words: object) -> Done:
    """Run a command in this process, with errors shown as `main` shows them."""
    result = CliRunner().invoke(cli, [str(word) for word in words])
    if isinstance(result.exception, InterlockError):
        return Done(1, result.stdout, f"interlock: {result.exception}")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Done(result.exit_code, result.stdout, result.stderr)


def whole(*words: object) -> subprocess.CompletedProcess[str]:
    """Run a command as a process of its own."""
    command = [sys.executable, "-m", "interlock.cli.main", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_run_prints_only_the_summary(tmp_path: Path) -> None:
    done = whole("run", "--task", "cubepick-reach", "--harness", "oracle", "--out", tmp_path)
    summary = json.loads(done.stdout)
    assert {"trial", "reward", "outcome", "steps", "wall_s", "exception"} <= set(summary)
    assert (done.returncode, summary["reward"], done.stderr) == (0, 1.0, "")
    again = interlock("summarize", summary["folder"])
    assert "verdict verified" in again.stderr
    assert "It was solved." in again.stdout


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--task", "cubepick-reach", "--harness", "nosuch"], 1),
        (["--task", "cubepick-reach", "--harness", "oracle", "--seed", "x"], 2),
        (["--task", "cubepick-reach", "--harness", "oracle", "--seed", "-1"], 2),
        (["--task", "cubepick-reach", "--harness", "oracle", "--timeout", "nan"], 1),
        (["--task", "cubepick-reach", "--harness", "oracle", "--video", "big"], 2),
        (["--task", "nosuch", "--harness", "oracle"], 1),
        (["--task", "cubepick-reach"], 2),
    ],
)
def test_bad_options_have_their_exit_codes(words: list[str], code: int, tmp_path: Path) -> None:
    done = interlock("run", *words, "--out", tmp_path / "out")
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_ctrl_c_keeps_the_trial_and_exits_130(tmp_path: Path) -> None:
    program = tmp_path / "sleep.py"
    program.write_text("import time\ntime.sleep(60)\n")
    command = [sys.executable, "-m", "interlock.cli.main", "run", "--task", "cubepick-reach"]
    command += ["--harness", "program", "--policy-config", str(program), "--out", str(tmp_path)]
    # Where the tests run in the background, Ctrl-C would be ignored by what they start.
    command = ["env", "--default-signal=INT", *command]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    while not list(tmp_path.glob("*/agent/stdout.txt")):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    stdout, _ = process.communicate(timeout=20)
    assert process.returncode == 130
    assert json.loads(stdout)["exception"]["type"] == "Cancelled"
    assert json.loads(stdout)["reward"] is None


def many(out: Path, *words: object) -> Done:
    return interlock("run-many", "--task", "cubepick-reach", "--out", out, *words)


def test_run_many_prints_a_line_per_trial_and_resumes(tmp_path: Path) -> None:
    words = ("--harness", "oracle", "--seeds", "0-5", "--concurrency", "2")
    first = many(tmp_path, *words)
    lines = first.stdout.splitlines()
    assert (first.returncode, len(lines)) == (0, 7)
    assert all("eta" in line for line in lines[:-1])
    assert "\x1b" not in first.stdout
    assert lines[-1] == f"solved 6 of 6 scored trials, in {tmp_path}"
    assert many(tmp_path, *words).returncode == 1
    again = many(tmp_path, *words, "--resume")
    assert (again.returncode, again.stdout.split(":")[0]) == (0, "nothing to do")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--harness", "noop", "--seeds", "0-1"), "harness was 'oracle', is 'noop'"),
        (("--harness", "oracle", "--seeds", "0-2"), "1 trials were added or removed"),
        (("--harness", "oracle", "--seeds", "0-1", "--timeout", "7"), "settings changed for 2"),
    ],
)
def test_another_run_is_not_resumed(tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    many(tmp_path, "--harness", "oracle", "--seeds", "0-1")
    refused = many(tmp_path, *words, "--resume")
    assert refused.returncode == 1
    assert says in refused.stderr


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    program = tmp_path / "slow.py"
    program.write_text(
        "import subprocess, time\ntime.sleep(0.2)\n"
        "subprocess.run(['robo', 'move-to', '0.3', '0.3', '0'])\nsubprocess.run(['robo', 'done'])\n"
    )
    out = tmp_path / "out"
    words = ("--harness", "program", "--policy-config", program, "--seeds", "0-7")
    command = [sys.executable, "-m", "interlock.cli.main", "run-many", "--task", "cubepick-reach"]
    command += ["--out", str(out), *map(str, words)]
    for wanted in (2, 4):
        process = subprocess.Popen([*command, "--resume"], stdout=subprocess.DEVNULL)
        while len(list(out.glob("cubepick*/result.json"))) < wanted:
            time.sleep(0.02)
        process.kill()
        process.wait()
    kept = {path: path.stat().st_mtime_ns for path in out.glob("cubepick*/result.json")}
    last = interlock(*command[3:], "--resume")
    assert last.returncode == 0
    assert last.stdout.splitlines()[-1].startswith("solved 0 of 8 scored trials")
    assert len(list(out.glob("cubepick*/result.json"))) == 8
    assert all(path.stat().st_mtime_ns == then for path, then in kept.items())


def test_infrastructure_failures_are_tried_again_and_stay_apart(tmp_path: Path) -> None:
    program = tmp_path / "flaky.py"
    program.write_text("import sys\nsys.exit('the server is not there')\n")
    words = ("--harness", "program", "--policy-config", program, "--seeds", "0-1")
    done = many(tmp_path / "out", *words, "--retries", "2")
    assert done.returncode == 1
    last = done.stdout.splitlines()[-1]
    assert last.startswith("nothing scored; 2 of 2 not scored (infrastructure)")
    assert len(list((tmp_path / "out" / "_infra_failed").iterdir())) == 4
    report = interlock("report", tmp_path / "out")
    assert report.returncode == 1
    assert "unmeasured" in report.stdout


@pytest.mark.parametrize("option", [("--limit", "0"), ("--sample", "0"), ("--include", "nope*")])
def test_a_run_of_no_trials_is_refused(tmp_path: Path, option: tuple[str, str]) -> None:
    done = many(tmp_path / "out", "--harness", "oracle", *option)
    assert done.returncode == 1
    assert "no t" in done.stderr


def test_report_compares_shared_trials_and_flags_unlike_protocols(tmp_path: Path) -> None:
    many(tmp_path / "a", "--harness", "oracle", "--seeds", "0-4")
    many(tmp_path / "b", "--harness", "noop", "--seeds", "0-5")
    page = tmp_path / "page.html"
    alike = interlock("report", tmp_path / "a", tmp_path / "b", "--html", page)
    assert "5/5     100.0%  56.6% to 100.0%" in alike.stdout
    assert "on 5 shared trials" in alike.stdout
    assert "(1 trials only one of them has)" in alike.stdout
    assert page.read_text().count("cubepick-reach#") == 11
    many(tmp_path / "c", "--harness", "noop", "--seeds", "0-4", "--timeout", "7")
    unlike = interlock("report", tmp_path / "a", tmp_path / "c")
    assert "not comparable, protocols differ in" in unlike.stdout
    assert "timeout_s" in unlike.stdout


def test_a_changed_verdict_is_not_counted(tmp_path: Path) -> None:
    many(tmp_path, "--harness", "noop", "--seeds", "0-1")
    path = next(tmp_path.glob("cubepick*/result.json"))
    path.write_text(path.read_text().replace('"reward": 0.0', '"reward": 1.0'))
    report = interlock("report", tmp_path)
    assert "0/1" in report.stdout
    assert "not counted" in report.stderr


def test_tasks_can_be_made_shown_and_checked(tmp_path: Path) -> None:
    path = tmp_path / "mine" / "mine-first.md"
    assert interlock("tasks", "init", path).returncode == 0
    assert "ok   " in interlock("tasks", "check", path).stdout
    assert "Put the red cube" in interlock("tasks", "show", path).stdout
    path.write_text(path.read_text().replace("skill place pad", "wait 1"))
    broken = interlock("tasks", "check", path)
    assert broken.returncode == 1
    assert "oracle with seed 0 scored 0.0" in broken.stdout


def test_tasks_list_prints_one_id_a_line() -> None:
    lines = interlock("tasks", "list").stdout.splitlines()
    assert "cubepick-reach" in {line.split()[0] for line in lines}


def test_robo_without_an_episode_says_so() -> None:
    robo = Path(__file__).parents[2] / "cli" / "robo.py"
    environment = {"PATH": os.environ["PATH"]}
    done = subprocess.run(
        [sys.executable, "-IS", str(robo), "info"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 1
    assert "no episode answers" in done.stderr


def test_robo_imports_nothing_but_a_little_of_the_standard_library() -> None:
    robo = Path(__file__).parents[2] / "cli" / "robo.py"
    code = f"import sys, runpy; runpy.run_path({str(robo)!r}); print(len(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-IS", "-c", code], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 100


def test_one_worker_and_two_give_the_same_trials(tmp_path: Path) -> None:
    words = ("--harness", "oracle", "--seeds", "0-3", "--epochs", "2")
    outcomes = []
    for workers in ("1", "2"):
        out = tmp_path / workers
        many(out, *words, "--concurrency", workers)
        results = [json.loads(path.read_text()) for path in out.glob("cubepick*/result.json")]
        outcomes.append({r["key"]: (r["reward"], r["outcome"], r["steps"]) for r in results})
    assert outcomes[0] == outcomes[1]
    assert len(outcomes[0]) == 8
