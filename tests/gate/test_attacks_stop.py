"""Ways to make a stop not stop: lost on its way, late, or with a motion waiting for its start."""

import numpy as np
import pytest

from interlock.messages import Reset, Stop

MS = 1_000_000
TURN = np.array([1.0, 0, 0, 0, 0, 0, 0])


def turn(rig, rad, rows):
    return rig.home + np.linspace(0, rad, rows + 1)[1:, None] * TURN


def lose(rig, replies):
    """Let the driver not hear what the Gate has just said."""
    rig.deaf = True
    rig.deliver(replies)
    rig.deaf = False


def furthest(rig, ms):
    """Return how far the base joint gets from where it is while time passes, in rad."""
    start, most = rig.position[0], 0.0
    for _ in range(ms // 10):
        rig.tick(10, alive=())
        most = max(most, abs(rig.position[0] - start))
    return most


@pytest.mark.parametrize("lost", [1, 3])
def test_a_lost_stop_is_sent_again_before_a_motion_that_waits_for_its_start_begins(rig, lost):
    assert rig.send(rig.task(), turn(rig, 0.6, 200), start_ns=rig.now + 900 * MS).admitted
    rig.tick(100)
    lose(rig, rig.gate.stop(Stop(by="operator"), rig.now))
    for _ in range(lost):
        rig.deaf = True
        rig.tick(10)
    rig.deaf = False
    assert furthest(rig, 2000) == 0
    assert rig.gate.status(rig.now).at_rest


def test_a_stop_lost_between_two_motions_does_not_let_the_second_one_begin(rig):
    token = rig.task()
    assert rig.send(token, turn(rig, 0.02, 5), ends_at_rest=True).admitted
    assert rig.send(token, turn(rig, 0.5, 200), start_ns=rig.now + 600 * MS).admitted
    rig.tick(300)
    lose(rig, rig.gate.stop(Stop(by="operator"), rig.now))
    assert furthest(rig, 2000) < 1e-3


def test_a_reset_after_a_lost_stop_does_not_bring_the_old_motion_back(rig):
    assert rig.send(rig.task(), turn(rig, 0.6, 200), start_ns=rig.now + 500 * MS).admitted
    lose(rig, rig.gate.stop(Stop(by="operator"), rig.now))
    rig.deliver(rig.gate.reset(Reset(by="operator"), rig.now))
    assert furthest(rig, 2000) == 0


def test_a_motion_that_the_gate_had_given_up_is_known_again_when_the_driver_executes_it(rig):
    rig.send(rig.task(), turn(rig, 0.6, 200))
    late = rig.state()
    rig.tick(100)
    # A state that is dated wrongly looks as if the driver had not taken the motion.
    rig.gate.on_state(rig.received(late, "simulator", "state"), rig.now)
    rig.tick(20)
    rig.deliver(rig.gate.stop(Stop(by="operator"), rig.now))
    assert furthest(rig, 1000) < 0.1
    assert rig.speed == 0


def test_a_driver_that_was_put_elsewhere_before_its_first_command_is_believed(rig):
    rig.send(rig.task(), turn(rig, 0.1, 20))
    rig.tick(200)
    elsewhere = rig.home + 0.1 * TURN
    rig.port.restart_at(elsewhere)
    rig.tick(50)
    np.testing.assert_allclose(rig.gate.chain.state_at(rig.now).position, elsewhere)
