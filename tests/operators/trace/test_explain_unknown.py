"""`why` does not name a cause for what the trace does not show, and walks the basis it names."""

import pytest

from interlock.messages import Stop
from interlock.operators.trace import Trace
from interlock.operators.trace.explain import explain


def why(trace, cause, *words):
    """Assert the cause and that the paragraph names what matters."""
    found = explain(trace)
    assert found.cause == cause, found.text
    for word in words:
        assert word in found.text
    return found


@pytest.mark.parametrize("code", ["empty_grasp", "timeout", "error", "program", "not_at_rest"])
def test_without_evidence_the_cause_is_unknown(run, code):
    run.close_fingers()
    run.commands = False
    run.play(0.5)
    why(run.end(code=code, reason="no idea"), "unknown", "no idea", "does not show why")


def test_what_happens_elsewhere_or_later_is_no_cause(run):
    run.event("trace", "speaker/x closed", node="speaker", output="x", reason="died")
    run.command(codes=["workspace"], sentence="too far")
    run.play(0.1)
    run.cancel("policy", reason="no idea")
    run.now_ms += 20
    run.report(code="error", reason="no idea")
    run.now_ms += 100
    run.send("operator/stop", Stop(by="alice"))
    run.play(0.3)
    why(run.plant.trace(), "unknown")


def test_a_token_given_back_by_its_owner_is_no_lost_authority(run):
    run.cancel("policy", reason="no idea")
    run.now_ms += 20
    run.grant("revoked", "no idea")
    run.now_ms += 50
    why(run.end(code="error", reason="no idea"), "unknown")


def test_a_node_that_ended_because_of_the_failure_is_no_cause(run):
    run.report(code="error", reason="no idea")
    run.now_ms += 60
    for node in ("policy", "gate"):
        reason = "nobody is left to command: node policy no idea"
        run.event("trace", f"{node}/x closed", node=node, output="x", reason=reason)
    why(run.plant.trace(), "unknown")


def test_a_task_that_waits_for_the_robot_to_the_end_has_no_authority(run):
    run.grant("ended", "finished")
    run.report("succeeded")
    run.now_ms += 50
    run.commands, run.token = False, "t9"
    run.begin(name="jog", owner="boss")
    run.token = "t2"
    run.grant("queued")
    run.play(1.0)
    run.grant("queued")
    why(run.plant.trace(), "lost_authority", "waited for the robot", "jog", "boss")


def test_a_failure_that_was_mended_is_no_failure(run):
    run.command(codes=["workspace"], sentence="too far")
    run.report(code="refused", goal="policy/1")
    run.now_ms += 50
    run.play(0.5)
    trace = run.end("succeeded", goal="policy/2")
    assert explain(trace).text == "The run did not fail."
    assert explain(trace, goal="policy/1").cause == "refusal"


def test_the_walk_along_basis_ends_at_the_observation(run):
    run.command(codes=["workspace"], sentence="x is 0.9 m, limit 0.8 m")
    found = why(run.end(code="refused"), "refusal", "was computed from")
    assert [ref.partition(" ")[0] for ref in found.basis] == [
        "policy/command", "tracker/objects", "camera/image", "sim/state",
    ]  # fmt: skip


def test_every_cause_can_be_told_from_a_cut_trace(run):
    run.command(codes=["workspace"], sentence="too far")
    run.end(code="refused")
    for file in (run.plant.folder / "trace").glob("*.arrows"):
        file.write_bytes(file.read_bytes()[:-1])
        assert explain(Trace(run.plant.folder)).text
