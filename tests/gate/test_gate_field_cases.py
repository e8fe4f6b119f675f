"""Field cases of the Gate; the names are those of the list they come from."""

import numpy as np
import pytest

from interlock.gate.samples import end_ns, state_at
from interlock.messages import Basis, Command, Reset, Stop
from interlock.robots import panda

MS = 1_000_000


def test_c01_after_a_stop_nothing_of_the_old_chunk_is_played(rig):
    token = rig.task()
    rig.send(token, rig.home + 0.004 * np.arange(1, 101)[:, None], period_ms=20)
    rig.tick(300)
    rig.deliver(rig.gate.stop(Stop(by="ann"), rig.now))
    rig.tick(500)
    rested = rig.position
    rig.deliver(rig.gate.reset(Reset(by="ann"), rig.now))
    new = rig.task()
    seen = Basis(source="camera", output="image", seq=9, observed_ns=rig.now, received_ns=rig.now)
    assert rig.send(new, rested - 0.002, basis=(seen,)).admitted
    rig.tick(300)
    assert (rig.position < rested).all()
    assert {m.task for m in rig.sent[-1:]} == {new}


@pytest.mark.parametrize("state_ms", [10, 50])
def test_c04_a_chunk_of_50_rows_at_50_hz_lasts_one_second_whatever_the_loop_does(rig, state_ms):
    rows = rig.home + 0.2 * np.linspace(0, 1, 51)[1:, None]
    token = rig.task()
    rig.send(token, rows, period_ms=20)
    motion = rig.sent[-1]
    rig.tick(state_ms)
    assert motion.stop_index * motion.period_ns == 1_000 * MS
    played = [state_at(motion, motion.start_ns + 20 * MS * k).position for k in range(1, 51)]
    assert np.abs(np.array(played) - rows).max() < 0.02


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, "nan", True, None])
def test_d01_what_is_no_number_never_reaches_the_driver(rig, bad):
    token = rig.task()
    for step in range(10):
        rig.send(token, rig.home + 0.001 * step)
        rig.tick(20)
    sent = len(rig.sent)
    rows = np.array([[bad] * 7]) if not isinstance(bad, float) else np.full((1, 7), bad)
    command = Command(task=token, space="joint", targets=rows, period_ns=20 * MS)
    assert rig.judge(command).codes == ("malformed",)
    assert len(rig.sent) == sent


def test_d03_a_stop_before_and_between_runs_lets_no_command_through(make_rig):
    rig = make_rig()
    rig.gate.stop(Stop(by="ann"), 0)
    rig.gate.stop(Stop(by="ann"), 0)
    rig.observe()
    for _ in range(50):
        grant = rig.ask()
        rig.send(grant.task, rig.home + 0.001)
        rig.tick(20)
    assert rig.sent == []
    assert rig.gate.status(rig.now).state == "stopped"


def test_d05_whoever_dies_the_arm_rests_along_a_motion_that_was_checked(rig):
    token = rig.task()
    rig.stream(token, [0.8, 0, 0, 0, 0, 0, 0], 300)
    newest = rig.sent[-1]
    # Nobody says anything any more: neither the policy nor the Gate.
    rig.now = end_ns(newest)
    assert rig.port.set_point(rig.now).phase == "hold"
    assert (end_ns(newest) - newest.start_ns) < 400 * MS


def test_d08_steps_at_10_hz_become_a_motion_within_every_limit(rig):
    token = rig.task()
    row = rig.home.copy()
    for tick, step in enumerate([1] * 10 + [0] * 3 + [-1] * 10):
        row = row + np.array([0.1, 0, 0, 0, 0, 0, 0.1]) * step
        verdict = rig.send(token, row, period_ms=100)
        assert verdict.admitted, verdict.sentence
        rig.tick(100 if tick % 3 else 90)
    limits = panda.LIMITS
    for motion in rig.sent:
        times = range(motion.start_ns, end_ns(motion), 2 * MS)
        q, v, a = (np.array(x) for x in zip(*(state_at(motion, t) for t in times), strict=True))
        assert (np.abs(v) <= limits.velocity).all()
        assert (np.abs(a) <= limits.acceleration).all()
        assert (np.abs(np.diff(q, axis=0)) <= limits.velocity * 0.0021).all()
    assert rig.port.refused_count == 0


def test_e05_a_restarted_policy_begins_from_nothing(rig):
    token = rig.task()
    rig.send(token, rig.home + 0.004 * np.arange(1, 101)[:, None], period_ms=20)
    rig.tick(200)
    rig.deliver(rig.gate.gone("policy", rig.now, "its node was started again"))
    rig.tick(200)
    assert rig.gate.at_rest(rig.now)
    assert "revoked" in rig.send(token, rig.position).codes
    assert rig.send(rig.task(), rig.position + 0.001).admitted
