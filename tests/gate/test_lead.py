"""The lead follows what the driver reports."""

import numpy as np

from interlock.gate.lead import Lead
from interlock.messages import RobotState

N = np.zeros(7)


def state(refused: int, refusal: str = "") -> RobotState:
    return RobotState(
        position=N,
        velocity=N,
        commanded_position=N,
        commanded_velocity=N,
        commanded_acceleration=N,
        gripper_width_m=0.0,
        gripper_target_m=0.0,
        gripper_force_n=0.0,
        world_from_tool=N,
        tool_speed_mps=0.0,
        at_rest=True,
        refused=refused,
        refusal=refusal,
    )


def test_the_lead_is_the_configured_one_while_nothing_is_late() -> None:
    lead = Lead(10, 100)
    for _ in range(100):
        lead.observe(state(0))
    assert lead.ns == 10_000_000


def test_a_late_command_raises_it_up_to_the_largest() -> None:
    lead = Lead(10, 100)
    lead.observe(state(1, "late: it arrived 3.0 ms after its start"))
    assert lead.ns == 20_000_000
    for refused in range(2, 20):
        lead.observe(state(refused, "old: it arrived 9 ms after it was of use"))
    assert lead.ns == 100_000_000


def test_a_forged_command_does_not_change_it() -> None:
    lead = Lead(10, 100)
    lead.observe(state(50, "bad_seal: it was not sealed by this run's Gate"))
    assert lead.ns == 10_000_000


def test_it_comes_back_slowly() -> None:
    lead = Lead(10, 100)
    lead.observe(state(1, "late: x"))
    for _ in range(100):
        lead.observe(state(1, "late: x"))
    assert 15_000_000 < lead.ns < 20_000_000
    for _ in range(2000):
        lead.observe(state(1, "late: x"))
    assert lead.ns < 10_100_000
