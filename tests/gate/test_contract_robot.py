import numpy as np
import pytest

from interlock.gate.contract_robot import ContractGate, ContractLimits
from interlock.gate.errors import GateConfigError
from interlock.messages import Reset, Stop

MS = 1_000_000


def limits(**fields):
    fields = {"names": ("x", "y"), "low": np.array([-1.0, -1]), "high": np.array([1.0, 1])} | fields
    return ContractLimits(**fields)


@pytest.fixture
def gate():
    made = ContractGate(limits(most_change=np.array([0.5, 0.5]), max_age_ms=200, budget=5))
    made.begin("me", 0)
    return made


def judge(gate, action, owner="me", observed_ns=0, now_ns=0):
    return gate.judge(action, owner=owner, observed_ns=observed_ns, now_ns=now_ns)


def test_an_action_inside_its_bounds_is_admitted(gate):
    assert judge(gate, np.array([0.5, -0.5])).admitted


@pytest.mark.parametrize(
    ("action", "code"),
    [
        ([1.5, 0.0], "out_of_bounds"),
        ([np.nan, 0.0], "malformed"),
        ([np.inf, 0.0], "malformed"),
        ([0.0], "malformed"),
        ([[0.0, 0.0]], "malformed"),
        (["nan", "0"], "malformed"),
        ([True, False], "malformed"),
        (None, "malformed"),
        ({"x": 1}, "malformed"),
        ([0.0, None], "malformed"),
        ([[0.0], [0.0, 1.0]], "malformed"),
    ],
)
def test_what_is_not_acceptable_is_refused_by_name(gate, action, code):
    assert judge(gate, action).codes == (code,)


def test_the_rate_of_change_is_limited_and_the_nearest_action_is_admitted(gate):
    judge(gate, [0.0, 0.0])
    refused = judge(gate, [0.9, 0.0])
    assert refused.codes == ("rate_of_change",)
    assert refused.sentence.startswith("x would change by 0.9 in one action, the limit is 0.5")
    assert judge(gate, refused.nearest).admitted


def test_old_data_another_owner_and_a_spent_budget_are_refused(gate):
    assert judge(gate, [0, 0], now_ns=201 * MS).codes == ("stale_data",)
    assert judge(gate, [0, 0], owner="you").codes == ("not_owner",)
    for _ in range(5):
        assert judge(gate, [0, 0]).admitted
    assert judge(gate, [0, 0]).codes == ("budget",)


def test_an_operator_stop_latches_and_the_episode_must_begin_anew(gate):
    gate.stop(Stop(by="ann"))
    assert "operator_stop" in judge(gate, [0, 0]).codes
    assert gate.begin("me", 0)
    gate.reset(Reset(by="ann"))
    assert judge(gate, [0, 0]).codes == ("not_owner",)
    assert gate.begin("me", 0) == ""
    assert judge(gate, [0, 0]).admitted


def test_a_second_owner_waits_until_the_episode_ends(gate):
    assert gate.begin("you", 0) == "me has the episode; wait until it ends"
    gate.end()
    assert gate.begin("you", 0) == ""


def test_an_owner_that_falls_silent_loses_its_episode():
    gate = ContractGate(limits(lease_ms=100))
    gate.begin("me", 0)
    gate.heartbeat("me", 50 * MS)
    assert judge(gate, [0, 0], now_ns=140 * MS, observed_ns=140 * MS).admitted
    late = judge(gate, [0, 0], now_ns=300 * MS, observed_ns=300 * MS)
    assert late.codes == ("not_owner",)


@pytest.mark.parametrize(
    "fields",
    [
        {"low": np.array([-1.0])},
        {"high": np.array([np.nan, 1])},
        {"low": np.array([2.0, 0])},
        {"most_change": np.array([0.0, 1])},
        {"most_change": np.array([-1.0, 1])},
        {"max_age_ms": 0},
        {"budget": -1},
        {"high": np.array(["a", "b"])},
    ],
)
def test_a_limit_that_is_no_limit_is_refused(fields):
    with pytest.raises(GateConfigError):
        limits(**fields)
