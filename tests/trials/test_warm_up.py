"""A policy server that blocks at its first inference costs a trial nothing but patience (A01)."""

import dataclasses
from pathlib import Path

import pytest
from trial_worlds import slow_server

from interlock.trials.library import load
from interlock.trials.plan import Plan
from interlock.trials.runner import run_trial


def test_warm_up_takes_no_step_and_no_wall_time_of_the_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The trial has 6 s; its server thinks for 7 s before it answers for the first time.
    task = dataclasses.replace(load("cups-place"), max_steps=25, timeout_s=6.0)
    with slow_server(7.0) as url:
        monkeypatch.setenv("INTERLOCK_VLA_URL", url)
        result = run_trial(Plan(task=task, harness="vla", out=tmp_path))
    assert (result["exception"], result["outcome"]) == (None, "budget_exhausted")
    assert result["steps"] == 25
    [warmup_s] = result["agent"]["warmup_s"]
    assert warmup_s >= 7.0 > result["agent"]["latency_ms"]["roundtrip_ms"] / 1e3


def test_the_arm_holds_while_the_server_warms_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = dataclasses.replace(load("cups-place"), max_steps=2)
    with slow_server(1.0) as url:
        monkeypatch.setenv("INTERLOCK_VLA_URL", url)
        result = run_trial(Plan(task=task, harness="vla", out=tmp_path))
    agent = result["agent"]
    assert agent["sent"] == {"last": [], "travel": 0.0}
    assert agent["measured"]["travel"] < 1e-3
