"""A served policy drives the simulated Panda through the Gate, in lockstep, over a real socket."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from interlock.nodes._lockstep import Lockstep
from interlock.operators.inference import measure_inferences
from interlock.operators.trace import Trace
from interlock.operators.trace.digest import digest
from interlock.operators.trace.explain import explain
from interlock.policies.vla.servers.behaviour import Scripted, Stub
from interlock.policies.vla.servers.faults import Faults
from interlock.policies.vla.servers.stand import Stand, serving

GRAPHS = Path(__file__).parents[2] / "configs" / "dataflows"


@pytest.fixture
def flown(tmp_path, monkeypatch):
    """Fly the shipped VLA dataflow against a server; return the run and its folder."""

    def fly(stand, *, limit_s=4.0, **env):
        folder = tmp_path / f"run{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        dataflow = yaml.safe_load((GRAPHS / "vla-openpi.yml").read_text())
        with serving(stand) as url:
            monkeypatch.setenv("INTERLOCK_VLA_URL", url)
            run = Lockstep(
                dataflow,
                dataflow_dir=GRAPHS,
                run_dir=folder,
                extra_env={
                    "policy": {"MAX_STEPS": 60, **env},
                    "camera_front": {"WIDTH": 64, "HEIGHT": 48},
                    "camera_top": {"WIDTH": 64, "HEIGHT": 48},
                },
            )
            run.start()
            while not run.done and run.now_ns < limit_s * 1e9:
                run.run_until(run.now_ns + 100_000_000)
            run.stop()
        return run, folder

    return fly


def scripted(**faults):
    return Stand(kind="openpi", behaviour=Scripted(horizon=20), faults=Faults(**faults))


def messages(folder, edge):
    return [r.message for r in Trace(folder).messages(outputs=[edge])]


def test_the_arm_follows_the_policy_and_ends_at_rest(flown):
    run, folder = flown(scripted())
    assert not run.failures
    states = messages(folder, "simulator/state")
    joints = np.array([s.position for s in states])
    assert np.ptp(joints[:, 0]) > 0.02
    assert states[-1].at_rest
    [result] = [r for r in messages(folder, "policy/result") if r.goal.endswith("/2")]
    assert result.status == "succeeded"


def test_the_same_seed_gives_the_same_run(flown):
    digests = {digest(flown(scripted())[1]) for _ in range(2)}
    assert len(digests) == 1


def test_a_policy_of_another_width_moves_nothing_and_fails_the_run(flown):
    run, folder = flown(Stand(kind="openpi", behaviour=Stub(width=6)))
    assert any("action width: expected 8, got 6" in f for f in run.failures)
    assert messages(folder, "policy/command") == []


def test_a_policy_that_wants_too_much_is_refused_by_the_gate_and_given_up(flown):
    run, folder = flown(Stand(kind="openpi", behaviour=Stub(width=8, value=9.0)), MAX_STEPS=0)
    verdicts = messages(folder, "gate/verdict")
    assert verdicts
    assert not any(v.admitted for v in verdicts)
    assert run.failures


def test_an_empty_prompt_is_refused(flown):
    with pytest.raises(Exception, match="PROMPT is empty"):
        flown(scripted(), PROMPT="")


def test_every_inference_is_in_the_profile_with_the_age_of_what_it_saw(flown):
    _, folder = flown(scripted())
    found = {p.part: p for p in measure_inferences(Trace(folder))}
    assert found["warm-up round trip"].count == 1
    # In lockstep an answer takes 100 ms; the chunk is played a lead later than it came.
    assert found["round trip"].p50_ms == 100.0
    assert 100.0 <= found["age at execution"].p50_ms <= 300.0


POSE = (0.0, -0.3, 0.0, -2.2, 0.0, 2.0, 0.8, 1.0)


class Always:
    """The same row for every observation."""

    def __init__(self, row):
        self._chunk = np.tile(np.asarray(row, np.float32), (20, 1))

    def act(self, observation, request):
        return self._chunk


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (np.zeros(8), "The policy answered only zeros"),
        (POSE, "The policy answered the same action every time"),
        (np.full(8, 9.0), "The policy is saturated"),
        (np.full(8, np.nan), "The policy's answers are not finite"),
    ],
)
def test_why_tells_four_useless_policies_apart_with_requested_sent_and_measured(flown, row, said):
    stand = Stand(kind="openpi", behaviour=Always(row))
    _, folder = flown(stand, limit_s=6.0)
    found = explain(Trace(folder))
    assert found.cause == "policy_output"
    assert said in found.text
    if np.isfinite(row).all():
        assert all(f"{name} [" in found.text for name in ("requested", "sent", "measured"))


def test_why_says_nothing_about_a_policy_that_moves(flown):
    _, folder = flown(scripted())
    assert explain(Trace(folder)).text == "The run did not fail."
