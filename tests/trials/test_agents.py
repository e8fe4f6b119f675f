"""Whole trials with agents that are real processes speaking the real command lines."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.upstream import Upstream
from trial_worlds import make_task

from interlock.trials.errors import PreflightError
from interlock.trials.plan import Plan, with_timeout
from interlock.trials.process_tree import MAX_OUTPUT_BYTES
from interlock.trials.runner import preflight, run_trial
from interlock.trials.sandbox import sandbox_name

FAKE = Path(__file__).parent / "fakes" / "agent.py"
PROGRAMS = {
    "claude-code": ("claude", "anthropic", "anthropic/claude-sonnet-5"),
    "codex": ("codex", "openai", "openai/gpt-6-astra"),
    "gemini-cli": ("gemini", "gemini", "gemini/gemini-4-argon"),
    "mini-swe-agent": ("mini", "glm", "glm/glm-5.3"),
}
KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "ZAI_API_KEY")
Run = Callable[..., dict[str, Any]]


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    server = Upstream()
    yield server
    server.close()


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, upstream: Upstream) -> Run:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, _, _ in PROGRAMS.values():
        (programs / name).write_text(f"#!{sys.executable}\n{FAKE.read_text()}")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("MY_SERVICE_TOKEN", "token-of-mine")
    for variable in KEYS:
        monkeypatch.setenv(variable, "sk-the-real-key")
    for _, provider, _ in PROGRAMS.values():
        monkeypatch.setenv(f"INTERLOCK_{provider.upper()}_URL", upstream.url)

    def start(harness: str, *, play: str = "solve", timeout_s: float = 60.0) -> dict[str, Any]:
        plan = Plan(
            task=with_timeout(make_task(), timeout_s),
            harness=harness,
            model=PROGRAMS[harness][2],
            out=tmp_path / "out",
            extra_instruction=f"PLAY:{play} ",
        )
        result = run_trial(plan)
        return {**result, "folder": plan.out / plan.name()}

    return start


@pytest.mark.parametrize("harness", sorted(PROGRAMS))
def test_an_agent_solves_a_task_through_robo_and_the_gateway(
    run: Run, harness: str, upstream: Upstream
) -> None:
    result = run(harness)
    assert (result["exception"], result["reward"], result["outcome"]) == (None, 1.0, "done")
    steps = json.loads((result["folder"] / "trajectory.json").read_text())["steps"]
    assert any("skill pick cube" in json.dumps(step) for step in steps)
    assert result["usage"]["input_tokens"] == 100
    assert 0 < result["usage"]["cost_usd"] < 0.01
    assert "sk-the-real-key" in json.dumps(upstream.calls[0]["headers"])


@pytest.mark.parametrize("harness", sorted(PROGRAMS))
def test_no_credential_reaches_the_agent_or_the_folder(run: Run, harness: str) -> None:
    folder = run(harness)["folder"]
    for path in folder.rglob("*"):
        if path.is_file():
            text = path.read_text(errors="replace")
            assert "sk-the-real-key" not in text, path
            assert "token-of-mine" not in text, path


@pytest.mark.parametrize("sandboxed", [True, False])
def test_nothing_survives_the_deadline(
    run: Run, sandboxed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not sandboxed:
        monkeypatch.setenv("INTERLOCK_SANDBOX", "0")
    result = run("claude-code", play="survive", timeout_s=4.0)
    assert (result["outcome"], result["exception"], result["reward"]) == ("agent_timeout", None, 0)
    left = [p for p in Path("/proc").glob("[0-9]*/cmdline") if b"SURVIVOR" in _read(p)]
    assert left == []
    rows = [json.loads(row) for row in (result["folder"] / "requests.jsonl").open()]
    late = [row for row in rows if row["arrived_s"] > 4.0 and row["reply"]["ok"]]
    assert any(row["reply"]["ok"] for row in rows)
    assert late == []


def test_a_flood_of_output_is_bounded_and_counted(run: Run) -> None:
    result = run("claude-code", play="flood")
    assert result["reward"] == 1.0
    assert result["agent"]["dropped_bytes"] > 1_000_000
    assert (result["folder"] / "agent" / "stdout.txt").stat().st_size == MAX_OUTPUT_BYTES


def test_a_crash_before_the_end_is_not_scored(run: Run) -> None:
    result = run("claude-code", play="crash")
    assert result["reward"] is None
    assert result["status"] == "error"
    assert result["exception"]["type"] == "AgentError"
    assert "something broke" in result["exception"]["message"]


def test_a_spend_cap_stops_the_agent_before_the_money_is_spent(
    run: Run, monkeypatch: pytest.MonkeyPatch, upstream: Upstream
) -> None:
    monkeypatch.setenv("INTERLOCK_SPEND_CAP_USD", "0.001")
    result = run("claude-code")
    assert (result["outcome"], result["reward"]) == ("budget_stop", 0.0)
    assert upstream.calls == []


@pytest.mark.parametrize(
    ("harness", "model", "says"),
    [
        ("claude-code", "claude-sonnet-5", "no provider in front"),
        ("claude-code", "antropic/x", "did you mean 'anthropic'"),
        ("claude-code", "openai/gpt-6-astra", "does not speak the 'anthropic' wire"),
        ("claude-code", "anthropic/unknown-9", "no price is known"),
        ("claude-cod", "", "did you mean 'claude-code'"),
        ("oracle", "openai/gpt-6-astra", "uses no model"),
    ],
)
def test_a_bad_set_up_is_found_before_anything_starts(
    run: Run, tmp_path: Path, harness: str, model: str, says: str
) -> None:
    with pytest.raises(PreflightError, match=says):
        run_trial(Plan(task=make_task(), harness=harness, model=model, out=tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_missing_credentials_program_and_walls_are_named(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = "anthropic/claude-sonnet-5"
    plan = Plan(task=make_task(), harness="claude-code", model=model, out=tmp_path / "out")
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(PreflightError, match="set ANTHROPIC_API_KEY"):
        preflight(plan)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(PreflightError, match="npm install -g @anthropic-ai/claude-code"):
        preflight(plan)
    (tmp_path / "only").mkdir()
    (tmp_path / "only" / "claude").symlink_to(tmp_path / "bin" / "claude")
    monkeypatch.setenv("PATH", str(tmp_path / "only"))
    monkeypatch.delenv("INTERLOCK_SANDBOX", raising=False)
    with pytest.raises(PreflightError, match="apt-get install bubblewrap"):
        preflight(plan)


def test_the_sandbox_that_was_used_is_in_the_configuration(run: Run) -> None:
    config = json.loads((run("codex")["folder"] / "config.json").read_text())
    assert config["sandbox"] == sandbox_name(True)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
