"""A command must not cost the Gate so much time that a stop has to wait for it."""

import numpy as np
import pytest

from interlock.gate.planner import Planner

MS = 1_000_000


@pytest.fixture
def most_samples(monkeypatch):
    """Return a list of how many samples each motion had that was built."""
    seen = []
    build = Planner.plan

    def counted(self, *args, **named):
        plan = build(self, *args, **named)
        seen.append(len(plan.position))
        return plan

    monkeypatch.setattr(Planner, "plan", counted)
    return seen


@pytest.mark.parametrize("period_ns", [1, 1000, 999_999])
def test_rows_closer_than_a_millisecond_are_malformed_and_nothing_is_planned(
    asked_rig, most_samples, period_ns
):
    asked_rig.stream(asked_rig.token, np.array([0.5, 0, 0, 0, 0, 0, 0]), 200)
    most_samples.clear()
    verdict = asked_rig.send(asked_rig.token, asked_rig.position, period_ms=period_ns / MS)
    assert verdict.codes == ("malformed",)
    assert "1000000" in verdict.sentence
    assert most_samples == []


@pytest.mark.parametrize("period_ms", [20, 20_000])
def test_a_place_that_takes_an_hour_to_reach_is_refused_without_planning_the_hour(
    asked_rig, most_samples, period_ms
):
    far = asked_rig.home + 9000
    verdict = asked_rig.send(asked_rig.token, far, period_ms, ends_at_rest=True)
    assert not verdict.admitted
    assert max(most_samples) < 3000


def test_a_long_chunk_without_any_good_row_is_judged_once_and_gets_no_offer(
    asked_rig, most_samples
):
    far = np.tile(asked_rig.home + 9000, (1000, 1))
    verdict = asked_rig.send(asked_rig.token, far, 20, ends_at_rest=True)
    assert not verdict.admitted
    assert not verdict.nearest.size
    assert len(most_samples) == 1
