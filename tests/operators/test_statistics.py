"""Statistics against published or hand-computed figures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.operators.statistics import (
    StatisticsError,
    bootstrap_mean,
    compare_paired,
    mcnemar_exact,
    pass_at_k,
    wilson,
)


def test_wilson_agrees_with_the_published_example() -> None:
    # Newcombe 1998, table I: 81 of 263 gives 0.2553 to 0.3662.
    interval = wilson(81, 263)
    assert (interval.low, interval.high) == pytest.approx((0.2553, 0.3662), abs=5e-5)


def test_ten_of_ten_is_not_certainty() -> None:
    interval = wilson(10, 10)
    assert interval.value == interval.high == 1.0
    assert interval.low == pytest.approx(0.7225, abs=1e-4)


@given(st.integers(1, 400), st.data())
def test_wilson_always_contains_the_rate(trials: int, data: st.DataObject) -> None:
    interval = wilson(data.draw(st.integers(0, trials)), trials)
    assert 0 <= interval.low <= interval.value <= interval.high <= 1


@pytest.mark.parametrize(("successes", "trials"), [(0, 0), (1, 0), (0, -5), (3, 2), (-1, 4)])
def test_a_rate_without_trials_is_unmeasured_not_zero(successes: int, trials: int) -> None:
    with pytest.raises(StatisticsError):
        wilson(successes, trials)


def test_bootstrap_repeats_itself_and_brackets_the_mean() -> None:
    values = [1.0, 2.0, 3.0, 4.0, 10.0]
    interval = bootstrap_mean(values)
    assert interval == bootstrap_mean(values)
    assert interval.low < interval.value == 4.0 < interval.high


def test_bootstrap_refuses_no_data_and_not_a_number() -> None:
    with pytest.raises(StatisticsError, match="unmeasured"):
        bootstrap_mean([])
    with pytest.raises(StatisticsError, match="finite"):
        bootstrap_mean([1.0, float("nan")])


def test_mcnemar_is_the_exact_binomial_tail() -> None:
    assert mcnemar_exact(0, 0) == 1.0
    assert mcnemar_exact(1, 9) == pytest.approx(2 * 11 / 1024)
    assert mcnemar_exact(9, 1) == mcnemar_exact(1, 9)


def test_only_shared_trials_are_compared() -> None:
    first = {"a": True, "b": True, "c": False, "x": True}
    second = {"a": True, "b": False, "c": False, "y": True}
    paired = compare_paired(first, second)
    assert (paired.both, paired.only_first, paired.only_second, paired.neither) == (1, 1, 0, 1)
    assert paired.difference.n == 3
    with pytest.raises(StatisticsError, match="share no trial id"):
        compare_paired({"a": True}, {"b": True})


def test_paired_interval_agrees_with_the_published_example() -> None:
    # Newcombe 1998 (paired), method 10 on 36, 12, 2, 0: difference 0.20, 0.0569 to 0.3404.
    ids = [f"t{i}" for i in range(50)]
    first = {key: i < 48 for i, key in enumerate(ids)}
    second = {key: i < 36 or i >= 48 for i, key in enumerate(ids)}
    difference = compare_paired(first, second).difference
    assert difference.value == pytest.approx(0.20)
    assert (difference.low, difference.high) == pytest.approx((0.0569, 0.3404), abs=2e-3)


def test_pass_at_k_is_unbiased() -> None:
    assert pass_at_k(1, 4, 1) == 0.25
    assert pass_at_k(1, 4, 2) == 0.5
    with pytest.raises(StatisticsError, match="at least 3"):
        pass_at_k(1, 2, 3)
