"""Chunks: how long they last, when the next is asked for, seams, averaging, emptying."""

import numpy as np
import pytest

from interlock.operators.chunks import Chunk, ChunkPlayer, ChunkSettings, Columns

MS = 1_000_000
S = 1000 * MS
NOTHING = Columns()


def chunk(rows, *, period_ms=20, observation=0, observed_ns=0, origin=None):
    rows = np.asarray(rows, float)
    return Chunk(
        rows=rows,
        raw=rows,
        period_ns=period_ms * MS,
        observation_id=observation,
        observed_ns=observed_ns,
        origin=np.zeros(rows.shape[1]) if origin is None else np.asarray(origin, float),
    )


def ramp(steps=50, slope=1.0, start=0.0):
    """Rows of one column that rise by ``slope`` each."""
    return start + slope * np.arange(1, steps + 1, dtype=float)[:, None]


def player(columns=NOTHING, speed=None, **settings):
    return ChunkPlayer(ChunkSettings(**settings), columns, speed=speed)


def give(played, new, now_ns, *, asked_ns=None, observation=0, warmup=False):
    ticket = played.ask(now_ns if asked_ns is None else asked_ns, observation)
    assert played.add(ticket, new, now_ns, warmup=warmup)


def play(played, start_ns, end_ns, rate_hz):
    """Return (kind, first value) at every tick from start to end, both included."""
    period_ns = round(S / rate_hz)
    steps = [played.next(t) for t in range(start_ns, end_ns + 1, period_ns)]
    return [(s.kind, None if s.target is None else float(s.target[0])) for s in steps]


@pytest.mark.parametrize("rate_hz", [20, 50, 100])
def test_fifty_rows_at_50_hz_last_one_second_at_any_control_rate(rate_hz):
    played = player()
    give(played, chunk(ramp()), 0)
    steps = play(played, 0, 2 * S, rate_hz)
    assert [kind for kind, _ in steps].count("play") == rate_hz + 1
    assert steps[rate_hz] == ("play", 50.0)
    assert steps[rate_hz // 2][1] == pytest.approx(25.0)
    assert steps[-1] == ("hold", 50.0)


def test_a_slow_policy_moves_smoothly_between_its_rows():
    played = player()
    give(played, chunk([[10.0]], period_ms=200), 0)
    assert [v for _, v in play(played, 0, 200 * MS, 50)] == pytest.approx(np.arange(11))


def test_the_last_row_is_reached_though_no_tick_falls_on_it():
    played = player()
    give(played, chunk(ramp(5)), 0)
    assert play(played, 0, 140 * MS, 30)[-1] == ("hold", 5.0)


def test_a_gripper_jumps_and_is_never_in_between():
    rows = [[1.0, 0.0], [2.0, 1.0], [3.0, 1.0]]
    played = player(Columns(discrete=(1,)))
    give(played, chunk(rows), 0)
    seen = {float(played.next(t * MS).target[1]) for t in range(0, 100, 3)}
    assert seen == {0.0, 1.0}


def test_rotations_move_along_the_shorter_way_at_length_one():
    start, end = np.array([1.0, 0, 0, 0]), np.array([-np.sqrt(0.5), 0, 0, -np.sqrt(0.5)])
    played = player(Columns(quaternions=(0,)))
    give(played, chunk([start, end], origin=start), 0)
    middle = played.next(30 * MS).target
    assert np.linalg.norm(middle) == pytest.approx(1.0)
    assert abs(middle[0]) == pytest.approx(np.cos(np.pi / 8), abs=1e-3)


def test_open_loop_plays_n_rows_then_holds_until_the_next_chunk():
    played = player(replan_steps=5)
    give(played, chunk(ramp()), 0)
    assert not played.wants_chunk(80 * MS)
    assert played.wants_chunk(100 * MS)
    played.ask(100 * MS, 1)
    assert not played.wants_chunk(110 * MS)
    assert play(played, 120 * MS, 200 * MS, 50) == [("hold", 5.0)] * 5


def test_receding_horizon_asks_ahead_by_the_latency_and_plays_on():
    played = player(strategy="receding_horizon", replan_steps=25, latency_s=0.1)
    give(played, chunk(ramp()), 0, warmup=True)
    assert not played.wants_chunk(380 * MS)
    assert played.wants_chunk(400 * MS)
    played.ask(400 * MS, 1)
    assert all(kind == "play" for kind, _ in play(played, 400 * MS, 900 * MS, 50))


def test_rows_that_passed_while_the_model_thought_are_skipped():
    played = player(strategy="receding_horizon", blend_s=0.0)
    give(played, chunk(ramp()), 0)
    play(played, 0, 500 * MS, 50)
    late = chunk(ramp(start=15.0), observation=1, observed_ns=300 * MS)
    give(played, late, 500 * MS, asked_ns=300 * MS, observation=1)
    assert played.next(520 * MS).target[0] == pytest.approx(26.0)


def test_nothing_is_skipped_when_the_robot_stood_still_meanwhile():
    played = player(blend_s=0.0)
    give(played, chunk(ramp(5)), 0)
    play(played, 0, 500 * MS, 50)
    after = chunk(ramp(5, start=5.0), observation=1, observed_ns=300 * MS, origin=[5.0])
    give(played, after, 500 * MS, asked_ns=300 * MS, observation=1)
    assert played.next(520 * MS).target[0] == pytest.approx(6.0)


def test_the_latency_is_the_longest_measured_and_leaves_warm_up_out():
    played = player(latency_s=0.2)
    assert played.latency_ns == 200 * MS
    ticket = played.ask(0, 0)
    played.add(ticket, chunk(ramp()), 30 * S, warmup=True)
    assert played.latency_ns == 200 * MS
    for asked, answered in ((0, 50), (100, 180), (200, 260)):
        give(played, chunk(ramp()), answered * MS, asked_ns=asked * MS)
    assert played.latency_ns == 80 * MS


def test_a_seam_is_closed_within_the_speed_limit_and_without_a_jump():
    limit = np.array([2.0])
    played = player(strategy="receding_horizon", blend_s=0.05, speed=limit)
    flat = np.zeros((100, 1))
    give(played, chunk(flat), 0)
    before = play(played, 0, 500 * MS, 100)
    shifted = chunk(flat + 0.3, observation=1, observed_ns=500 * MS, origin=[0.3])
    give(played, shifted, 500 * MS, observation=1)
    after = play(played, 510 * MS, 1500 * MS, 100)
    values = np.array([v for _, v in before + after])
    assert np.max(np.abs(np.diff(values))) <= 2.0 * 0.01 + 1e-9
    assert values[-1] == pytest.approx(0.3)
    assert played.counts.largest_seam == pytest.approx(0.3)


def test_a_seam_never_blends_the_gripper():
    columns = Columns(discrete=(1,))
    played = player(columns, strategy="receding_horizon", blend_s=0.5)
    give(played, chunk([[0.0, 1.0]] * 50), 0)
    play(played, 0, 200 * MS, 50)
    give(
        played,
        chunk([[1.0, 0.0]] * 50, observation=1, observed_ns=200 * MS),
        200 * MS,
        observation=1,
    )
    seen = {float(played.next(t * MS).target[1]) for t in range(210, 800, 10)}
    assert seen == {0.0}


@pytest.mark.parametrize("reason", ["reset", "stop", "refused", "prompt changed"])
def test_clearing_empties_the_queue_and_voids_the_question_under_way(reason):
    played = player(strategy="receding_horizon")
    give(played, chunk(ramp()), 0)
    play(played, 0, 200 * MS, 50)
    old = played.ask(200 * MS, 1)
    played.clear(reason)
    assert played.next(220 * MS).kind == "empty"
    assert not played.add(old, chunk(ramp(), observation=1), 230 * MS)
    assert played.next(240 * MS).kind == "empty"
    assert (played.counts.discarded, played.cleared_by) == (1, reason)
    give(played, chunk(ramp(start=90.0), observation=2, origin=[90.0]), 300 * MS, observation=2)
    first = played.next(320 * MS)
    assert (first.observation_id, float(first.target[0])) == (2, pytest.approx(91.0))


def test_an_answer_to_another_observation_is_not_played():
    played = player()
    ticket = played.ask(0, 7)
    assert not played.add(ticket, chunk(ramp(), observation=6), 10 * MS)
    assert played.next(20 * MS).kind == "empty"


def test_a_failed_question_may_be_asked_again():
    played = player()
    ticket = played.ask(0, 0)
    assert not played.wants_chunk(10 * MS)
    played.fail(ticket)
    assert played.wants_chunk(10 * MS)


def test_a_chunk_that_ran_out_holds_or_stops_as_told():
    for told, kind in (("hold", "hold"), ("stop", "stop")):
        played = player(on_empty=told)
        give(played, chunk(ramp(5)), 0)
        assert play(played, 0, 200 * MS, 50)[-1][0] == kind


def ensembled(values, **settings):
    """Return what is played where several constant chunks overlap."""
    played = player(strategy="ensemble", blend_s=0.0, **settings)
    for i, value in enumerate(values):
        new = chunk(np.full((50, 1), value), observation=i, observed_ns=0, origin=[value])
        give(played, new, 0, observation=i)
    return played, played.next(200 * MS)


def test_act_weights_favour_the_oldest_chunk():
    _, step = ensembled([0.0, 1.0], ensemble_decay=0.5)
    assert step.target[0] == pytest.approx(np.exp(-0.5) / (1 + np.exp(-0.5)))


def test_favouring_the_newest_turns_the_weights_round():
    _, step = ensembled([0.0, 1.0], ensemble_decay=0.5, ensemble_favours="newest")
    assert step.target[0] == pytest.approx(1 / (1 + np.exp(-0.5)))


def test_similar_chunks_weigh_more():
    settings = ChunkSettings(strategy="similarity_ensemble", similarity=2.0, blend_s=0.0)
    played = ChunkPlayer(settings, NOTHING)
    for i, value in enumerate([[0.0, 1.0], [0.9, 0.1], [1.0, 0.0]]):
        give(played, chunk([value] * 50, observation=i, origin=[0.0, 0.0]), 0, observation=i)
    first, second = played.next(200 * MS).target
    assert first > 0.8
    assert second < 0.2


def test_chunks_that_point_opposite_ways_are_flagged():
    played = player(strategy="ensemble", ensemble_decay=0.0)
    for i in range(6):
        rows = np.full((50, 1), 0.2 if i % 2 else -0.2)
        give(played, chunk(rows, observation=i, origin=[0.0]), 0, observation=i)
    played._last = (0, np.zeros(1))
    step = played.next(40 * MS)
    assert step.opposite
    assert played.counts.opposite == 1


def test_an_ensemble_that_agrees_is_not_flagged():
    played, step = ensembled([0.20, 0.21, 0.19])
    assert not step.opposite
    assert played.counts.opposite == 0


def test_an_ensemble_takes_the_gripper_from_the_newest():
    played = player(Columns(discrete=(1,)), strategy="ensemble", blend_s=0.0)
    for i, grip in enumerate([0.0, 0.0, 1.0]):
        give(played, chunk([[0.0, grip]] * 50, observation=i), 0, observation=i)
    assert played.next(100 * MS).target[1] == 1.0


def test_the_committed_prefix_is_what_will_be_played_before_the_answer():
    played = player(strategy="receding_horizon", latency_s=0.1)
    give(played, chunk(ramp()), 0, warmup=True)
    np.testing.assert_array_equal(played.committed(200 * MS)[:, 0], [11, 12, 13, 14, 15])


def test_the_executed_share_of_each_chunk_is_logged():
    played = player(strategy="receding_horizon")
    give(played, chunk(ramp()), 0)
    play(played, 0, 500 * MS, 50)
    give(played, chunk(ramp(), observation=1, observed_ns=500 * MS), 500 * MS, observation=1)
    assert list(played.counts.executed_shares) == [0.5]


@pytest.mark.parametrize(
    "bad", [{"blend_s": -1}, {"latency_s": float("nan")}, {"ensemble_chunks": 0}]
)
def test_settings_out_of_range_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        ChunkSettings(**bad)


@pytest.mark.parametrize("latency_ms", [100, 200])
def test_a_minute_of_asynchronous_inference_leaves_no_tick_without_a_target(latency_ms):
    played = player(
        strategy="receding_horizon", replan_steps=25, latency_s=0.2, speed=np.array([5.0])
    )
    rng, asked, previous, largest = np.random.default_rng(0), None, None, 0.0
    for tick in range(20 * 60):
        now = tick * 50 * MS
        if asked and now >= asked[0] + latency_ms * MS:
            sent, ticket, seen = asked
            rows = seen + np.cumsum(rng.normal(0.0, 0.01, (50, 1)), axis=0)
            new = chunk(rows, observation=ticket.observation_id, observed_ns=sent, origin=seen)
            assert played.add(ticket, new, now)
            asked = None
        if played.wants_chunk(now) and asked is None:
            seen = np.zeros(1) if previous is None else previous
            asked = (now, played.ask(now, tick), seen)
        step = played.next(now)
        if tick >= 5:
            assert step.kind == "play"
        if previous is not None and step.target is not None:
            largest = max(largest, float(abs(step.target - previous)[0]))
        previous = step.target if step.target is not None else previous
    assert largest <= 5.0 * 0.05 + 0.1


def test_looking_ahead_shows_what_will_be_commanded_and_changes_nothing():
    played = player(strategy="receding_horizon", blend_s=0.2)
    give(played, chunk(ramp()), 0)
    play(played, 0, 500 * MS, 50)
    give(
        played,
        chunk(ramp(start=40.0), observation=1, observed_ns=500 * MS),
        500 * MS,
        observation=1,
    )
    ahead = played.ahead(500 * MS, 70, 20 * MS)[:, 0]
    later = [v for _, v in play(played, 520 * MS, 1900 * MS, 50)]
    np.testing.assert_allclose(ahead, later)
    assert ahead[-1] == 90.0
