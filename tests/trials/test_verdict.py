"""A published folder can be verified by anyone, and any change shows."""

import json
import stat
from pathlib import Path

import pytest
from trial_worlds import make_task

from interlock.trials.errors import VerdictError
from interlock.trials.plan import Plan
from interlock.trials.runner import run_trial
from interlock.trials.verdict import KEY_FILE, signing_key, state_folder, verify_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    plan = Plan(task=make_task(), harness="oracle", out=tmp_path)
    assert run_trial(plan)["reward"] == 1.0
    return tmp_path / plan.name()


def test_a_fresh_folder_verifies_and_names_the_signer(folder: Path) -> None:
    assert verify_folder(folder) == signing_key().public_key().public_bytes_raw().hex()


def test_the_key_is_the_users_alone(folder: Path) -> None:
    mode = (state_folder() / KEY_FILE).stat().st_mode
    assert stat.S_IMODE(mode) == 0o600
    assert not any(KEY_FILE in path.name for path in folder.rglob("*"))


@pytest.mark.parametrize("name", ["config.json", "requests.jsonl"])
def test_a_changed_file_is_named(folder: Path, name: str) -> None:
    path = folder / name
    path.write_text(path.read_text().replace("cube", "cuba", 1))
    with pytest.raises(VerdictError, match=name):
        verify_folder(folder)


def test_an_added_file_is_named(folder: Path) -> None:
    (folder / "extra.txt").write_text("x")
    with pytest.raises(VerdictError, match=r"extra\.txt"):
        verify_folder(folder)


def test_a_better_reward_does_not_verify(folder: Path) -> None:
    path = folder / "result.json"
    result = json.loads(path.read_text())
    result["steps"] = 1
    path.write_text(json.dumps(result))
    with pytest.raises(VerdictError, match="not what was signed"):
        verify_folder(folder)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"signature": 5}', '{"signature": {}}'])
def test_a_result_without_a_signature_does_not_verify(folder: Path, text: str) -> None:
    (folder / "result.json").write_text(text)
    with pytest.raises(VerdictError, match="no readable signed result"):
        verify_folder(folder)


def test_nothing_is_stored_twice(folder: Path) -> None:
    names = sorted(path.name for path in folder.rglob("*") if path.is_file())
    assert names == ["config.json", "requests.jsonl", "result.json"]
    config, result = (json.loads((folder / n).read_text()) for n in ("config.json", "result.json"))
    assert set(config) & set(result) == {"trial", "key"}
