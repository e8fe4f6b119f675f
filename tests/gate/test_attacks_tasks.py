"""Who may ask: after a restart, for the task of another, in the name of another, in floods."""

import numpy as np

from interlock.messages import Heartbeat

TURN = np.array([0.9, 0, 0, 0, 0, 0, 0])


def restarted(rig):
    """The policy's process begins anew: its outputs and its requests count from the beginning."""
    rig._seq.clear()
    rig._tokens = 0


def test_a_policy_that_was_started_again_is_granted_the_task_it_asks_for_first(rig):
    first = rig.task()
    rig.tick(100)
    restarted(rig)
    again = rig.ask()
    assert again.task != first
    assert again.state in ("queued", "granted")
    rig.tick(50)
    assert rig.send(again.task, rig.position + 0.001).admitted


def test_a_request_that_is_repeated_after_a_restart_gets_the_same_answer(rig):
    rig.task()
    restarted(rig)
    rig._tokens, asked = 0, rig.ask()
    rig._tokens = 0
    assert rig.ask().task == asked.task


def test_another_node_can_neither_cancel_nor_keep_alive_nor_use_a_task(rig):
    token = rig.task()
    rig.stream(token, TURN, 100)
    assert rig.cancel(token, source="other") == []
    assert rig.send(token, rig.position, source="other").codes[0] == "not_owner"
    for _ in range(50):
        beat = rig.received(Heartbeat(owner="me"), source="other", output="beat")
        rig.gate.heartbeat(beat, rig.now)
        rig.tick(10, alive=())
    assert not rig.gate.authority.live(token)
    assert rig.speed == 0


def test_a_thousand_requests_leave_the_table_bounded_and_a_second_node_its_turn(rig):
    for _ in range(1000):
        rig.ask(source="flood", lease_ms=2000)
    other = rig.ask(source="other", owner="you", priority=1, lease_ms=2000)
    assert other.state == "queued"
    assert len(rig.gate.authority._tasks) < 40
    rig.deliver(rig.gate.gone("flood", rig.now))
    rig.tick(20, alive=())
    assert rig.gate.authority.holder("arm") == other.task
