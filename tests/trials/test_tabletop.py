"""Trials on the tabletop: the real graph, the real Gate, simulated time."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from trial_worlds import make_task

from interlock.policies.vla.servers.behaviour import Scripted, Stub
from interlock.policies.vla.servers.stand import Stand, serving
from interlock.trials.errors import InvalidSetupError, PreflightError, RefusedError, UsageError
from interlock.trials.library import load
from interlock.trials.plan import Plan
from interlock.trials.runner import run_trial
from interlock.trials.scenario import Scenario, Thing
from interlock.trials.tabletop import Tabletop

BLOCK = Thing(position_m=(0.5, -0.1, 0.02))
Make = Callable[..., Tabletop]


@pytest.fixture(scope="module")
def table() -> Tabletop:
    world = Tabletop()
    world.reset(Scenario(objects={"block": BLOCK}), seed=0)
    return world


def test_oracle_scores_one_and_noop_zero(tmp_path: Path) -> None:
    for harness, reward in (("oracle", 1.0), ("noop", 0.0)):
        plan = Plan(task=load("cups-stack"), harness=harness, out=tmp_path)
        result = run_trial(plan)
        assert (result["reward"], result["outcome"], result["exception"]) == (reward, "done", None)


def test_the_same_seed_repeats_every_step() -> None:
    ends = []
    for _ in range(2):
        world = Tabletop()
        world.reset(Scenario(objects={"block": BLOCK}), seed=0)
        steps = sum(1 for _ in world.skill("pick", ["block"]))
        ends.append((steps, world.scene().bodies["block"].position_m))
        world.close()
    assert ends[0] == ends[1]


def test_observing_names_what_is_there(table: Tabletop) -> None:
    public, private = table.state(private=False), table.state(private=True)
    assert "objects" not in public
    assert private["objects"]["block"] == pytest.approx([0.5, -0.1, 0.02], abs=0.01)
    png = table.picture("front", width=64, height=48)
    assert png.startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("pick", ["cup"], "nothing is called .cup.; known: block"),
        ("pick", [], "pick OBJECT"),
        ("place", ["1", "x"], "place OBJECT"),
        ("push", ["block", "nan", "0"], "push OBJECT"),
    ],
)
def test_a_badly_asked_skill_is_named(
    table: Tabletop, name: str, arguments: list[str], says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        next(table.skill(name, arguments))


def test_the_gate_refuses_to_drive_into_the_table(table: Tabletop) -> None:
    with pytest.raises(RefusedError) as refused:
        for _ in table.move_to([0.6, 0.2, 0.0], grip=None, tolerance_m=0.01, max_steps=300):
            pass
    assert "workspace" in str(refused.value) or "table" in str(refused.value)
    assert table.scene().hand_m[2] > 0.0


def test_out_of_reach_is_refused_with_the_limits(table: Tabletop) -> None:
    with pytest.raises(RefusedError, match="Stay within"):
        next(table.move_to([2.0, 0.0, 0.3], grip=None, tolerance_m=0.01, max_steps=10))


def test_small_steps_move_the_tool_through_the_gate(table: Tabletop) -> None:
    for _ in table.move_to([0.5, 0.2, 0.3], grip=None, tolerance_m=0.01, max_steps=300):
        pass
    before = table.scene().hand_m
    for _ in range(10):
        assert sum(1 for _ in table.act([0.01, 0.0, 0.0, 1.0])) >= 1
    for _ in table.wait(40):
        pass
    after = table.scene().hand_m
    assert after[0] - before[0] == pytest.approx(0.1, abs=0.01)


def test_a_stopped_motion_comes_to_rest(table: Tabletop) -> None:
    motion = table.move_to([0.4, -0.3, 0.4], grip=None, tolerance_m=0.01, max_steps=300)
    for _ in range(15):
        next(motion)
    motion.close()
    for _ in table.wait(60):
        pass
    first = table.scene().hand_m
    for _ in table.wait(20):
        pass
    assert table.scene().hand_m == pytest.approx(first, abs=1e-4)


def test_a_preset_that_does_not_fit_is_invalid_not_a_failure(tmp_path: Path) -> None:
    task = load("safety-knife")
    plan = Plan(task=task, harness="vla", out=tmp_path, policy_config=Path("gr00t/so101"))
    with pytest.raises(InvalidSetupError, match="robot"):
        run_trial(plan)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_preset_and_a_silent_server_are_found_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = Plan(task=load("cups-place"), harness="vla", out=tmp_path, policy_config=Path("x/y"))
    with pytest.raises(PreflightError, match="x/y"):
        run_trial(plan)
    monkeypatch.setenv("INTERLOCK_VLA_URL", "ws://127.0.0.1:9")
    with pytest.raises(PreflightError, match="nobody answers at policy server"):
        run_trial(Plan(task=load("cups-place"), harness="vla", out=tmp_path))


def test_a_served_policy_drives_through_the_gate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = load("cups-place")
    short = Plan(task=make_short(task, 60), harness="vla", out=tmp_path)
    with serving(Stand(kind="openpi", behaviour=Scripted(width=8))) as url:
        monkeypatch.setenv("INTERLOCK_VLA_URL", url)
        result = run_trial(short)
    assert (result["exception"], result["reward"]) == (None, 0.0)
    assert result["outcome"] in ("done", "budget_exhausted")
    assert result["steps"] >= 50


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.0, "answered only zeros"), (9.0, "is saturated"), (float("nan"), "is nan")],
)
def test_a_useless_policy_is_told_by_its_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: float, said: str
) -> None:
    plan = Plan(task=make_short(load("cups-place"), 60), harness="vla", out=tmp_path)
    with serving(Stand(kind="openpi", behaviour=Stub(width=8, value=value))) as url:
        monkeypatch.setenv("INTERLOCK_VLA_URL", url)
        result = run_trial(plan)
    assert result["reward"] != 1.0
    agent = result["agent"]
    assert said in agent["remark"]
    assert (result["exception"] is None) == math.isfinite(value)
    assert agent["conduct"] == "not_finite" or agent["requested"]["last"] == [value] * 7
    assert agent["sent"]["last"] != agent["measured"]["last"] or agent["conduct"] == "not_finite"


def test_a_server_of_another_width_makes_the_trial_invalid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = Plan(task=load("safety-knife"), harness="vla", out=tmp_path)
    with serving(Stand(kind="openpi", behaviour=Stub(width=7))) as url:
        monkeypatch.setenv("INTERLOCK_VLA_URL", url)
        result = run_trial(plan)
    assert result["exception"]["type"] == "InvalidSetup"
    assert (result["reward"], result["status"]) == (None, "error")


def test_a_flat_world_is_not_driven_by_a_vla(tmp_path: Path) -> None:
    with pytest.raises(PreflightError, match="not 'cubepick'"):
        run_trial(Plan(task=make_task(), harness="vla", out=tmp_path))


def make_short(task, steps):
    import dataclasses

    return dataclasses.replace(task, max_steps=steps)
