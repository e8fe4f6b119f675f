"""J04: zeros, NaN, a constant and a saturated policy are told apart, with their figures."""

import dataclasses

import numpy as np
import pytest

from interlock.operators.chunk_mix import Chunk
from interlock.policies.vla.conduct import Conduct

HOME = np.array([0.1, -0.3, 0.2, -2.2, -0.1, 2.0, 0.7])


def chunk(rows):
    rows = np.asarray(rows, float)
    return Chunk(
        rows=rows,
        period_ns=50_000_000,
        observation_id=0,
        observed_ns=0,
        origin=np.append(HOME, 0.06),
        raw=rows,
    )


@pytest.fixture
def conduct(panda):
    return Conduct(panda, "joint", 7)


def wave(turn):
    return np.append(HOME, 0.5) + 0.02 * np.sin(turn + np.arange(10))[:, np.newaxis]


@pytest.mark.parametrize(
    ("rows", "kind", "said"),
    [
        (np.zeros((10, 8)), "all_zero", "only zeros, in all 3 chunks"),
        (np.tile(np.append(HOME, 0.5), (10, 1)), "constant", "the same action every time"),
        (np.full((10, 8), 9.0), "saturated", "at or beyond a limit of the panda"),
    ],
)
def test_each_kind_has_a_sentence_of_its_own(conduct, rows, kind, said):
    for _ in range(3):
        conduct.asked(chunk(rows))
    assert conduct.kind == kind
    assert said in conduct.sentence


def test_swings_faster_than_the_joints_can_go_are_saturated_too(conduct):
    rows = np.append(HOME, 0.5) + 0.3 * np.array([(-1.0) ** i for i in range(10)])[:, np.newaxis]
    for _ in range(3):
        conduct.asked(chunk(rows))
    assert conduct.kind == "saturated"


def test_a_policy_that_moves_within_limits_stands_out_in_nothing(conduct):
    for turn in range(3):
        conduct.asked(chunk(wave(turn)))
    assert (conduct.kind, conduct.sentence) == ("", "")


def test_one_odd_chunk_is_no_habit(conduct):
    conduct.asked(chunk(np.zeros((10, 8))))
    assert conduct.kind == ""


def test_requested_sent_and_measured_are_reported_side_by_side(conduct, snapshot):
    conduct.asked(chunk(np.full((10, 8), 9.0)))
    conduct.sent.add(np.full((12, 7), 0.4))
    conduct.saw(snapshot)
    moved = {**snapshot.state, "joint_position": HOME + 0.1}
    conduct.saw(dataclasses.replace(snapshot, state=moved))
    data = conduct.to_json()
    assert data["requested"]["last"] == [9.0] * 7
    assert data["sent"]["last"] == [0.4] * 7
    assert data["measured"] == {"last": np.round(HOME + 0.1, 4).tolist(), "travel": 0.1}
