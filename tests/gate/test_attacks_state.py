"""A robot state that lies about its time or number blinds nobody and stops no later state."""

from dataclasses import replace

import numpy as np
import pytest

from interlock.messages import Event

MS = 1_000_000
TURN = np.array([1.0, 0, 0, 0, 0, 0, 0])
HOUR_NS = 3_600_000_000_000


def hear(rig, message, observed_ns=None):
    received = rig.received(message, "simulator", "state", observed_ns=observed_ns)
    return rig.gate.on_state(received, rig.now)


def test_a_state_from_the_future_is_ignored_and_told_and_the_arm_goes_on(asked_rig):
    told = hear(asked_rig, asked_rig.state(), asked_rig.now + HOUR_NS)
    assert any(isinstance(x, Event) and "from now" in x.text for x in told)
    asked_rig.tick(50)
    assert asked_rig.send(asked_rig.token, asked_rig.home + 0.001).admitted


def test_after_a_state_from_the_future_a_silent_robot_is_still_noticed(asked_rig):
    asked_rig.send(asked_rig.token, asked_rig.home + 1.0 * TURN, 3000)
    asked_rig.tick(300)
    hear(asked_rig, asked_rig.state(), asked_rig.now + HOUR_NS)
    for _ in range(20):
        asked_rig.now += 10 * MS
        asked_rig.deliver(asked_rig.gate.tick(asked_rig.now))
    assert "the robot's state is" in asked_rig.gate.status(asked_rig.now).reason


@pytest.mark.parametrize("number", [2**63 - 1, -2])
def test_a_state_with_a_number_that_no_command_has_is_ignored(asked_rig, number):
    told = hear(asked_rig, replace(asked_rig.state(), executing=number))
    assert "executing" in told[0].text
    assert asked_rig.send(asked_rig.token, np.array(asked_rig.home) + 0.001).admitted
