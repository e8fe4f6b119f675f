"""One suite over every check: it names itself, refuses what is no number, never raises."""

from dataclasses import fields, replace

import numpy as np
import pytest

from interlock.gate.checks import CHECKS
from interlock.gate.checks.form import malformed
from interlock.gate.decision import Finding
from interlock.gate.judgement import Question, _run
from interlock.gate.proposal import STAGES
from interlock.messages import Command

#: What a check needs to be built; checks that are not listed need nothing.
SETTINGS = {
    "workspace": {"low_m": (-1.0, -1.0, -0.5), "high_m": (1.0, 1.0, 1.5)},
    "tool_speed": {"limit_mps": 1.0},
    "separation": {"people": ("hand",), "required": True},
}
EACH = pytest.mark.parametrize("name", sorted(CHECKS))
BAD_PLANS = {
    "nan": lambda x: np.full_like(x, np.nan),
    "inf": lambda x: np.full_like(x, np.inf),
    "-inf": lambda x: np.full_like(x, -np.inf),
    "huge": lambda x: np.full_like(x, 1e300),
}


def build(name):
    return CHECKS[name](**SETTINGS.get(name, {}))


@pytest.fixture
def proposal(rig):
    judge = rig.gate._judge
    rig.see(
        cup_red=np.array([0.5, 0, 0.05, 1, 0, 0, 0]), hand=np.array([0.5, 0.3, 0.4, 1, 0, 0, 0])
    )
    command = Command(
        task="t",
        space="joint",
        targets=rig.home[None] + 0.01,
        period_ns=20_000_000,
        gripper_m=np.array([0.04]),
    )
    plan, _, findings = judge.motion.build(command, rig.now)
    assert not findings
    question = Question(command=command, source="policy")
    return judge._proposal(question, plan, rig.now)


@EACH
def test_it_is_registered_under_its_own_name_and_in_a_stage(name):
    assert build(name).name == name
    assert build(name).stage in STAGES


@EACH
def test_it_finds_nothing_wrong_with_a_small_safe_motion(name, proposal):
    found = list(build(name)(proposal))
    assert all(isinstance(f, Finding) for f in found)
    if name != "separation":
        assert [f.reason for f in found if f.reason] == []


@EACH
@pytest.mark.parametrize("kind", BAD_PLANS)
def test_a_motion_that_is_no_motion_is_refused_or_none_of_its_business(name, kind, proposal):
    check, plan = build(name), proposal.plan
    if not check.needs_plan:
        return
    bad = replace(
        plan,
        **{
            f.name: BAD_PLANS[kind](getattr(plan, f.name))
            for f in fields(plan)
            if f.name in ("position", "velocity", "acceleration", "targets", "demanded", "lag")
        },
    )
    found = _run(check, replace(proposal, plan=bad))
    # Recovery judges only moments between the first and the last; a huge number is a number.
    if name != "recovery" and kind != "huge":
        assert any(f.reason for f in found)


@EACH
def test_without_a_plan_a_clock_or_an_observation_it_does_not_raise(name, proposal):
    list(build(name)(replace(proposal, plan=None)))
    list(build(name)(replace(proposal, state_observed_ns=None)))
    list(build(name)(replace(proposal, now_ns=-(2**62))))
    list(build(name)(replace(proposal, sightings={})))


@EACH
@pytest.mark.parametrize("value", [-0.1, float("nan"), float("inf")])
def test_a_setting_that_is_no_limit_is_refused(name, value):
    given = SETTINGS.get(name, {})
    numbers = [f.name for f in fields(CHECKS[name]) if f.type == "float"]
    for number in numbers:
        if number == "held_margin_m" and value == -0.1:
            continue
        with pytest.raises(ValueError, match="expected"):
            CHECKS[name](**{**given, number: value})


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", [(0, 0), (3, 6)])
def test_a_row_that_is_not_finite_makes_the_command_malformed(value, where):
    rows = np.zeros((4, 7))
    rows[where] = value
    command = Command(task="t", space="joint", targets=rows, period_ns=20_000_000)
    assert malformed(command, 7).code == "malformed"
    assert f"row {where[0]}, column {where[1]}" in malformed(command, 7).sentence


@pytest.mark.parametrize(
    "change",
    [
        {"targets": np.zeros((1, 6))},
        {"targets": np.zeros((0, 7))},
        {"targets": np.zeros(7)},
        {"targets": np.zeros((1001, 7))},
        {"targets": np.zeros((1, 7), np.float32)},
        {"targets": np.array([["0"] * 7])},
        {"targets": np.array([[None] * 7], dtype=object)},
        {"targets": [[0.0] * 7]},
        {"targets": None},
        {"space": "pose"},
        {"space": "velocity"},
        {"space": None},
        {"period_ns": 0},
        {"period_ns": -1},
        {"period_ns": 0.5},
        {"period_ns": True},
        {"start_ns": "now"},
        {"deadline_ns": 2**64},
        {"task": 7},
        {"task": "t" * 1000},
        {"gripper_m": np.array([np.nan])},
        {"gripper_m": np.zeros(3)},
        {"gripper_m": None},
        {"gripper_force_n": float("nan")},
        {"gripper_force_n": -1.0},
        {"gripper_force_n": "40"},
    ],
)
def test_what_is_not_a_command_is_malformed_and_says_why(change):
    good = Command(task="t", space="joint", targets=np.zeros((1, 7)), period_ns=20_000_000)
    assert malformed(good, 7) is None
    wrong = malformed(replace(good, **change), 7)
    assert wrong.code == "malformed"
    assert wrong.sentence.startswith("The command is malformed: ")


@pytest.mark.parametrize("thing", [None, "stop", 3.0, b"\x00", {"task": "t"}, object()])
def test_what_is_no_message_at_all_is_malformed(thing):
    assert malformed(thing, 7).code == "malformed"
