"""The pilot against real servers: contract before motion, clearing, stopping (A01, C01, C08)."""

import dataclasses
import time

import numpy as np
import pytest

from interlock.policies.vla.asker import Asker
from interlock.policies.vla.client import PolicyClient
from interlock.policies.vla.errors import PolicyError, PolicyTimeoutError, SetupError
from interlock.policies.vla.pilot import Pilot
from interlock.policies.vla.preset_files import load_preset
from interlock.policies.vla.servers.behaviour import Replay, Stub
from interlock.policies.vla.servers.faults import Faults
from interlock.policies.vla.servers.stand import Stand, serving

MS = 1_000_000
TICK = 20 * MS


def preset(url, *, wire=(), chunks=(), stop=()):
    loaded = load_preset("interlock/panda", environment={"INTERLOCK_VLA_URL": url})
    fast = {"connect_budget_s": 3, "close_budget_s": 0.2, **dict(wire)}
    return dataclasses.replace(
        loaded,
        wire=dataclasses.replace(loaded.wire, **fast),
        chunks=dataclasses.replace(loaded.chunks, **dict(chunks)),
        stop=dataclasses.replace(loaded.stop, **dict(stop)),
    )


@pytest.fixture
def flying(panda):
    """Make pilots in lockstep, where an answer takes 100 ms; close them at the end."""
    askers = []

    def make(url, **options):
        loaded = preset(url, **options)
        askers.append(Asker(lambda: PolicyClient(loaded.wire), lockstep_ns=100 * MS))
        return Pilot(loaded, panda, askers[-1])

    yield make
    for asker in askers:
        asker.close()


def ready(pilot, snapshot, now=0):
    while not pilot.get_ready(snapshot, "episode", now):
        now += TICK
        assert now < 5000 * MS
    return now


def fly(pilot, snapshot, now, ticks, **changes):
    """Return the steps of some ticks, each with a snapshot of its own number."""
    steps = []
    for _ in range(ticks):
        now += TICK
        seen = dataclasses.replace(snapshot, id=now // TICK, observed_ns=now, **changes)
        steps.append(pilot.step(seen, now))
    return steps, now


def home(horizon=10):
    return Stub(horizon=horizon, width=8, value=0.5)


def test_nothing_is_played_before_contract_and_warm_up(flying, snapshot):
    stand = Stand(kind="openpi", behaviour=home())
    with serving(stand) as url:
        pilot = flying(url)
        now = ready(pilot, snapshot)
        assert len(stand.requests) == 1
        assert pilot.player.counts.chunks == 0
        steps, _ = fly(pilot, snapshot, now, 10)
    assert [s.kind for s in steps[:5]] == ["empty"] * 5
    assert steps[-1].kind == "play"
    assert len(pilot.timing.warmup_ms) == 1
    assert len(pilot.timing.roundtrip_ms) == 1


@pytest.mark.parametrize(
    ("stand", "said"),
    [
        ({"behaviour": Stub(width=32)}, "action width: expected 8, got 32"),
        ({"behaviour": Stub(width=6)}, "action width: expected 8, got 6"),
        ({"metadata": {"gripper": "1=closed, 0=open"}}, "gripper: expected 1=open"),
        ({"metadata": {"rate_hz": 50}}, "rate_hz: expected 20"),
    ],
)
def test_a_server_that_does_not_fit_is_an_invalid_set_up(flying, snapshot, stand, said):
    with serving(Stand(kind="openpi", **stand)) as url, pytest.raises(SetupError, match=said):
        ready(flying(url), snapshot)


@pytest.mark.parametrize(
    "faults", [Faults(error=True), Faults(nan=True), Faults(garbage=True), Faults(closes=True)]
)
def test_a_fault_in_the_first_answer_ends_before_any_motion(flying, snapshot, faults):
    with serving(Stand(kind="openpi", behaviour=home(), faults=faults)) as url:
        pilot = flying(url)
        with pytest.raises(PolicyError):
            ready(pilot, snapshot)
    assert pilot.player.counts.chunks == 0


@pytest.mark.parametrize("fault", ["error", "nan", "garbage", "closes"])
def test_one_fault_in_flight_is_asked_again_and_never_played(flying, snapshot, fault):
    faults = Faults(at=2, **{fault: True})
    with serving(Stand(kind="openpi", behaviour=home(), faults=faults)) as url:
        pilot = flying(url)
        steps, _ = fly(pilot, snapshot, ready(pilot, snapshot), 60)
    assert steps[-1].kind == "play"
    assert pilot.player.counts.chunks >= 2
    assert all(np.isfinite(s.target).all() for s in steps if s.target is not None)


def test_a_server_that_stays_broken_ends_the_policy_with_its_reason(flying, snapshot):
    with serving(Stand(kind="openpi", behaviour=home())) as url:
        pilot = flying(url, wire={"connect_budget_s": 0.2})
        now = ready(pilot, snapshot)
    with pytest.raises(PolicyTimeoutError, match="no policy server at"):
        fly(pilot, snapshot, now, 200)


@pytest.mark.parametrize("reason", ["refused", "prompt changed", "stale observation", "reset"])
def test_after_clearing_only_answers_to_newer_observations_are_played(flying, snapshot, reason):
    stand = Stand(kind="openpi", behaviour=home(50))
    with serving(stand) as url:
        pilot = flying(url)
        _, now = fly(pilot, snapshot, ready(pilot, snapshot), 20)
        pilot.clear(reason)
        cleared_at = now // TICK
        steps, _ = fly(pilot, snapshot, now, 20, prompt="another instruction")
    played = [s for s in steps if s.kind == "play"]
    assert steps[0].kind == "empty"
    assert played
    assert all(s.observation_id > cleared_at for s in played)
    assert stand.requests[-1]["prompt"] == "another instruction"


def test_a_pose_that_does_not_change_ends_a_policy_that_says_so(flying, snapshot):
    with serving(Stand(kind="openpi", behaviour=home(50))) as url:
        pilot = flying(url, stop={"still_steps": 15})
        fly(pilot, snapshot, ready(pilot, snapshot), 40)
    assert pilot.done == "settled: the pose has not changed for 15 steps"


def test_a_steady_motion_with_equal_deltas_does_not_count_as_still(flying, snapshot):
    with serving(Stand(kind="openpi", behaviour=home(50))) as url:
        pilot = flying(url, stop={"still_steps": 15})
        now = ready(pilot, snapshot)
        for i in range(60):
            moved = {
                **snapshot.state,
                "joint_position": snapshot.state["joint_position"] + 0.02 * i,
            }
            _, now = fly(pilot, snapshot, now, 1, state=moved)
    assert pilot.done == ""


def test_a_live_asker_never_blocks_the_tick_while_the_server_thinks(panda, snapshot):
    faults = Faults(at=1, late_s=0.5)
    with serving(Stand(kind="openpi", behaviour=home(), faults=faults)) as url:
        loaded = preset(url)
        asker = Asker(lambda: PolicyClient(loaded.wire))
        pilot = Pilot(loaded, panda, asker)
        while not pilot.get_ready(snapshot, "episode", 0):
            time.sleep(0.005)
        pilot.step(snapshot, TICK)
        assert asker.busy
        steps, now = fly(pilot, snapshot, TICK, 5)
        assert {s.kind for s in steps} == {"empty"}
        while not pilot.player.counts.chunks:
            time.sleep(0.01)
            [step], now = fly(pilot, snapshot, now, 1)
        asker.close()
    assert step.kind == "play"


def test_the_prefix_goes_to_a_server_that_continues_from_it(flying, snapshot):
    stand = Stand(kind="openpi", behaviour=Replay(np.full((1, 50, 8), 0.5, np.float32)))
    with serving(stand) as url:
        pilot = flying(url, chunks={"prefix_key": "action_prefix"})
        fly(pilot, snapshot, ready(pilot, snapshot), 40)
    sent = [r["action_prefix"] for r in stand.requests if "action_prefix" in r]
    assert sent
    assert all(p.shape[1] == 8 and 1 <= len(p) <= 5 for p in sent)
