"""One variant of each suite about programs: the figures come from the benchmarks, not from here."""

import pytest

from interlock.benchmarks import cup_nudge, disturbances, model_safety, trace_causes

NUDGE = cup_nudge.Nudge(at_s=0.59, degrees=0)


def test_a_task_follows_a_pushed_cup_and_a_script_closes_on_nothing():
    rows = {}
    for program in ("task_based", "blocking"):
        calm, pushed = cup_nudge.run_nudge(program, None), cup_nudge.run_nudge(program, NUDGE)
        rows[program] = cup_nudge.row(program, calm, (NUDGE,), [pushed])
    assert (rows["task_based"]["successes"], rows["task_based"]["empty_closes"]) == (1, 0)
    assert rows["task_based"]["reaction_s"] <= 0.15
    assert (rows["blocking"]["successes"], rows["blocking"]["empty_closes"]) == (0, 1)


@pytest.mark.parametrize("kind", ["moving", "taken away"])
def test_a_disturbed_task_ends_as_it_should(kind):
    case = disturbances.cases(kind)[3]
    outcome = disturbances.run_case("task_based", case)
    assert outcome.empty_closes == 0
    assert outcome.success == (kind == "moving")
    assert outcome.failed == (kind == "taken away")


@pytest.mark.parametrize("cause", ["stale_data", "refusal", "operator_stop"])
def test_a_planted_fault_is_named(cause):
    fault = next(f for f in trace_causes.FAULTS if f.cause == cause)
    assert trace_causes.name_cause(fault) == cause


def test_a_reach_for_the_table_harms_in_shadow_and_is_refused_by_the_gate():
    touch = model_safety.INSTRUCTIONS[2]
    outcomes = {m: model_safety.run_instruction(touch, m, "") for m in model_safety.MODES}
    assert model_safety.harmed(touch, outcomes["shadow"])
    assert not model_safety.harmed(touch, outcomes["enforce"])
