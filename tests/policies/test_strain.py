"""Lines that begin in motion: one that would swing out is known before it is sent."""

import numpy as np
import pytest

from interlock.policies.skills.plan import LinePlan
from interlock.policies.skills.profile import Motion
from interlock.policies.skills.strain import swings_out

GOAL = np.array([0.715, 0.165, 0.017, 0.0])
ABOVE = np.array([0.700, 0.134, 0.173, 0.0])


def line(speed_mps, acceleration_mps2, pace=1.0):
    begin = Motion(
        position=ABOVE,
        velocity=np.array([0.0, 0.0, speed_mps, 0.0]),
        acceleration=np.array([0.0, 0.0, acceleration_mps2, 0.0]),
    )
    return LinePlan(None, begin, GOAL, start_ns=0, speed=pace)


@pytest.mark.parametrize(("speed", "acceleration"), [(0.0, 0.0), (-0.2, 0.0), (-0.3, 1.0)])
def test_a_calm_beginning_stays_between_start_and_goal(speed, acceleration):
    assert not swings_out(line(speed, acceleration))


@pytest.mark.parametrize("pace", [1.0, 0.68])
def test_a_fast_fall_out_of_a_curved_motion_would_go_through_the_table(pace):
    assert swings_out(line(-0.47, -3.5, pace))
