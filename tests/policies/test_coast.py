"""How a commanded state is carried forward until a plan takes over."""

import numpy as np

from interlock.messages import RobotState
from interlock.policies.skills.plan import CoastPlan

N = np.zeros(2)


def coast(velocity: list[float], acceleration: list[float]) -> CoastPlan:
    state = RobotState(
        position=N,
        velocity=N,
        commanded_position=N,
        commanded_velocity=np.array(velocity),
        commanded_acceleration=np.array(acceleration),
        gripper_width_m=0.0,
        gripper_target_m=0.0,
        gripper_force_n=0.0,
        world_from_tool=np.zeros(7),
        tool_speed_mps=0.0,
        at_rest=False,
    )
    return CoastPlan(state, 0)


def test_a_joint_that_brakes_ends_at_rest_and_never_turns_round() -> None:
    motion = coast([1.0, -1.0], [-10.0, 10.0]).motion_at(300_000_000)
    assert np.allclose(motion.position, [0.05, -0.05])
    assert not motion.velocity.any()
    assert not motion.acceleration.any()


def test_a_joint_that_speeds_up_goes_on() -> None:
    motion = coast([1.0, 0.0], [2.0, 0.0]).motion_at(100_000_000)
    assert np.allclose(motion.position, [0.11, 0.0])
    assert np.allclose(motion.velocity, [1.2, 0.0])
