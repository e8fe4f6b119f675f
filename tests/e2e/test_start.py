"""`interlock start` with a small worker: how a run ends, and what it says then."""

import signal
import time

import pytest

from interlock.operators.trace import Trace

pytestmark = pytest.mark.dora


def test_a_run_ends_by_itself_with_a_line_per_event_and_the_place_of_the_trace(start, worker):
    run = start(worker(ticks=30))
    assert run.end() == 0
    assert "worked 10" in run.output
    assert "finished after" in run.output
    assert str(run.run_dir / "trace") in run.output
    assert run.outcome["status"] == "finished"
    assert run.left_behind() == []
    recorded = Trace(run.run_dir).messages(outputs=["worker/event"])
    assert [r.message.text for r in recorded] == ["worked 10", "worked 20", "worked 30"]


@pytest.mark.parametrize(
    ("then", "reason"),
    [
        ("fail", "node 'worker' failed: no more wood"),
        ("raise", "node 'worker' failed: ValueError: a splinter"),
        ("exit", "node 'worker' died: exited with code 7"),
    ],
)
def test_a_run_that_fails_says_which_node_and_why(start, worker, then, reason):
    run = start(worker(ticks=10, then=then))
    assert run.end() == 1
    assert reason in run.output
    assert run.outcome["reason"] == reason
    assert run.left_behind() == []


def test_a_killed_node_is_named_with_the_signal(start, worker):
    run = start(worker(ticks=1000))
    run.wait_for("worked 10")
    run.hit("worker")
    assert run.end() == 1
    assert run.outcome["reason"] == "node 'worker' died: exited because of signal SIGKILL"
    assert run.left_behind() == []


def test_a_suspended_node_is_named_as_hanging(start, worker):
    run = start(worker(ticks=1000))
    run.wait_for("worked 10")
    run.hit("worker", signal.SIGSTOP)
    assert run.end() == 1
    assert run.outcome["reason"].startswith("node 'worker' hangs: process")
    assert "worker" in run.outcome["killed"]
    assert run.left_behind() == []


def test_a_node_blocked_in_a_call_is_named_as_hanging(start, worker):
    run = start(worker(ticks=30, then="block"))
    assert run.end() == 1
    assert "node 'worker' hangs: no sign of life" in run.output


def test_ctrl_c_is_a_stop_and_no_failure_and_the_trace_is_complete(start, worker):
    run = start(worker(ticks=1000))
    run.wait_for("worked 20")
    run.press_ctrl_c()
    assert run.end(within_s=3.0) == 130
    assert run.outcome["status"] == "stopped"
    assert run.outcome["killed"] == []
    told = [e["text"] for e in run.events("worker") if e["message"] == "Event"]
    recorded = [r.message.text for r in Trace(run.run_dir).messages(outputs=["worker/event"])]
    assert recorded == told
    assert run.left_behind() == []


def test_ctrl_c_ends_a_blocked_node_in_time_and_names_it(start, worker):
    """Field case E03: stopped, not failed; what was recorded is there."""
    run = start(worker(ticks=22, then="block"))
    run.wait_for("worked 20")
    time.sleep(0.5)
    run.press_ctrl_c()
    assert run.end(within_s=3.5) == 130
    assert run.outcome["status"] == "stopped"
    assert "had to kill 'worker': no answer to stop" in run.output
    assert len(list(Trace(run.run_dir).messages(outputs=["worker/event"]))) == 2
    assert run.left_behind() == []


def test_a_second_ctrl_c_ends_everything_at_once(start, worker):
    run = start(worker(ticks=22, then="block"))
    run.wait_for("worked 20")
    time.sleep(0.5)
    run.press_ctrl_c()
    time.sleep(0.1)
    run.press_ctrl_c()
    assert run.end(within_s=2.0) == 130
    assert run.left_behind() == []


def test_killing_the_starter_leaves_nothing_behind(start, worker):
    run = start(worker(ticks=1000))
    run.wait_for("worked 10")
    pid = run.pid("worker")
    run.process.kill()
    run.process.wait()
    run.wait_until_gone(pid)


def test_killing_dora_itself_ends_the_run_with_that_reason(start, worker):
    run = start(worker(ticks=1000))
    run.wait_for("worked 10")
    run.hit("")
    assert run.end() == 1
    assert run.outcome["reason"] == "dora was killed by SIGKILL"
    assert run.events("worker")[-1]["status"] == "failed"
    assert "daemon is gone" in run.events("worker")[-1]["reason"]
    assert run.left_behind() == []
