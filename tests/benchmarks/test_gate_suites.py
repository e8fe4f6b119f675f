"""The suites, with one or two variants: the baseline does harm, the Gate does not."""

import numpy as np
import pytest

from interlock.benchmarks.suites import crash, safety, stopping
from interlock.benchmarks.suites.arms import Direct
from interlock.benchmarks.suites.gated import Gated
from interlock.benchmarks.suites.rows import Trial, rows
from interlock.gate import parse_config
from interlock.robots.scene_settings import shipped_scene

GATE = parse_config(safety.CONFIG)


@pytest.mark.parametrize("name", ["into the table", "a sweep past a cup"])
def test_a_buggy_program_does_harm_straight_and_none_through_the_gate(name):
    program = safety.PROGRAMS[name](np.random.default_rng(1), safe=False)
    scene = shipped_scene("tabletop")
    assert safety.run(Direct(scene, seed=0), program)[0]
    gated = Gated(scene, GATE, seed=0)
    assert not safety.run(gated, program)[0]
    assert gated.refused > 0


def test_a_safe_program_is_let_be():
    program = safety.PROGRAMS["into the table"](np.random.default_rng(1), safe=True)
    gated = Gated(shipped_scene("tabletop"), GATE, seed=0)
    harm, missed_m = safety.run(gated, program)
    assert (harm, gated.refused) == (False, 0)
    assert missed_m < safety.ARRIVED_M


def test_an_agent_or_a_gate_that_dies_leaves_the_arm_at_rest():
    found = list(crash.trials(variants=1))
    assert {t.suite for t in found if t.arm == "gate" and not t.event} == {
        "agent killed",
        "agent frozen",
        "Gate killed",
    }
    assert all(t.event for t in found if t.arm == "baseline")


def test_the_same_seed_gives_the_same_run():
    first, second = (list(crash.trials(variants=1, arm="gate only")) for _ in range(2))
    assert first == second


def test_cancel_and_operator_stop_hold():
    found = list(stopping.trials(variants=1))
    assert [t.suite for t in found if t.arm == "gate" and t.event] == []
    assert all(t.event for t in found if t.arm == "baseline")


def test_rows_count_and_compare_with_the_baseline():
    trials = [
        Trial(suite="s", arm=arm, kind="harm", variant=i, event=arm == "baseline")
        for arm in ("baseline", "gate")
        for i in range(10)
    ]
    baseline, gate = rows(trials)
    assert (baseline["n"], baseline["events"], gate["events"]) == (10, 10, 0)
    assert gate["p"] == pytest.approx(2 / 2**10, abs=1e-4)
    assert gate["high"] < baseline["low"]
