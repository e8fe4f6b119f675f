"""The simulated world: servo, grasps that hold, forces, states, and runs that are not valid."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from interlock.robots import kinematics, panda
from interlock.robots.geometry import RobotError
from interlock.robots.invalid import SimulationInvalid
from interlock.robots.scene import build_scene
from interlock.robots.scene_settings import shipped_scene
from interlock.robots.world import SimWorld


@pytest.fixture(scope="module")
def lifted(moves):
    """A red cup of 45 g, lifted."""
    settings = shipped_scene("tabletop")
    light = tuple(dataclasses.replace(item, mass_kg=0.045) for item in settings.objects)
    sim = SimWorld(build_scene(dataclasses.replace(settings, objects=light), seed=3))
    goal = moves.lift(sim, "cup_red", 0.45)
    state = np.zeros(sim.state_size)
    sim.read_state(state)
    return sim, goal, state


def test_the_arm_follows_a_moving_command_to_a_few_milliradians(moves):
    sim = moves.world("empty")
    goal = panda.HOME + np.array([0.8, 0.2, 0.0, 0.3, 0.0, 0.0, 0.5])
    moves.move(sim, panda.HOME, goal, 1.0)
    assert np.abs(sim.position - goal).max() < 0.004
    sim.step(200)
    assert np.abs(sim.position - goal).max() < 1e-4
    assert sim.tool_speed_m_s < 1e-3
    assert np.abs(sim.tool_pose - kinematics.forward(sim.position)).max() < 1e-9


def test_a_grasped_cup_is_lifted_and_known_to_be_held(lifted):
    sim, _, state = lifted
    sim.write_state(state)
    sim.step(50)
    assert sim.object_pose("cup_red")[2] > 0.4
    assert sim.forces.held() == ("cup_red",)
    assert 0.055 < sim.gripper_width_m < 0.061
    assert 25 < sim.gripper_force_n < 31


def test_a_held_cup_of_45_g_creeps_less_than_a_millimetre_in_a_minute(lifted, moves):
    sim, _, state = lifted
    sim.write_state(state)
    sim.step(250)
    before = moves.in_tool(sim, "cup_red")
    sim.step(30_000)
    assert np.linalg.norm(moves.in_tool(sim, "cup_red") - before) < 0.001


def test_a_held_cup_survives_four_quarter_turns(lifted, moves):
    sim, goal, state = lifted
    sim.write_state(state)
    before = moves.in_tool(sim, "cup_red")
    for turn in (-1.5, 0.0, 1.4, 0.0):
        turned = goal.copy()
        turned[5] = np.clip(goal[5] + turn, 0.1, 3.6)
        moves.move(sim, np.array(sim.data.ctrl[0:14:2]), turned, 1.0)
        turned[6] = goal[6] + turn
        moves.move(sim, np.array(sim.data.ctrl[0:14:2]), turned, 1.0)
    assert sim.forces.held() == ("cup_red",)
    assert np.linalg.norm(moves.in_tool(sim, "cup_red") - before) < 0.005


def test_a_cup_pulled_out_of_the_hand_is_no_longer_held(lifted):
    sim, _, state = lifted
    sim.write_state(state)
    sim.disturbances.push("cup_red", [0.0, 0.0, -0.12], 0.2)
    sim.step(600)
    assert sim.forces.held() == ()
    assert sim.gripper_width_m < 0.01
    assert sim.object_pose("cup_red")[2] < 0.1


def test_a_weak_grasp_presses_with_the_force_asked_for(lifted):
    sim, _, state = lifted
    sim.write_state(state)
    sim.set_gripper(0.0, force_n=10.0)
    sim.step(250)
    assert 9 < sim.gripper_force_n < 10.5


def test_pressing_on_the_table_is_measured_and_does_not_blow_up(moves):
    sim = moves.world("empty")
    above = kinematics.inverse(moves.from_above(0.5, 0.0, 0.1), panda.HOME)
    below = kinematics.inverse(moves.from_above(0.5, 0.0, -0.03), above)
    moves.move(sim, panda.HOME, above, 1.0)
    assert sim.forces.take_peaks_n()["table"] == 0.0
    moves.move(sim, above, below, 1.0)
    assert 100 < sim.forces.take_peaks_n()["table"] < 2000
    assert sim.tool_pose[2] > 0.0
    assert sim.forces.now_n()["table"] > 100


def test_the_same_seed_and_commands_give_the_same_bits(moves):
    finals = []
    for _ in range(2):
        sim = moves.world("tabletop", seed=8)
        moves.lift(sim, "cup_blue")
        state = np.zeros(sim.state_size)
        sim.read_state(state)
        finals.append(state.tobytes())
    assert finals[0] == finals[1]


def test_a_reset_forgets_everything(moves):
    sim = moves.world("person", seed=8)
    fresh, again = np.zeros(sim.state_size), np.zeros(sim.state_size)
    first = sim.reset(8)
    sim.read_state(fresh)
    sim.disturbances.attach("cup_red", "hand")
    sim.disturbances.push("cup_blue", [0.1, 0, 0], 1.0)
    sim.set_gripper(0.02, 5.0)
    sim.step(300)
    assert sim.reset(8) == first
    sim.read_state(again)
    sim.disturbances.read_state(fresh[-sim.disturbances.state_size :])
    assert np.array_equal(fresh, again)
    assert sim.reset(9) != first


def test_a_state_written_back_continues_as_before(moves):
    sim = moves.world("tabletop")
    moves.move(sim, panda.HOME, panda.HOME + 0.2, 0.3)
    state, first, second = (np.zeros(sim.state_size) for _ in range(3))
    sim.read_state(state)
    sim.step(100)
    sim.read_state(first)
    sim.write_state(state)
    sim.step(100)
    sim.read_state(second)
    assert np.array_equal(first, second)


@pytest.mark.parametrize("bad", [1e6, np.nan, np.inf])
def test_a_wild_servo_command_ends_the_run_by_step_and_joint(moves, bad):
    sim = moves.world("empty")
    sim.step(5)
    command = panda.HOME.copy()
    command[2] = bad
    with pytest.raises(SimulationInvalid, match="step 5, joint3") as caught:
        sim.set_servo(command, np.zeros(7))
    assert (caught.value.step, caught.value.dof) == (5, "joint3")


def test_a_diverging_step_ends_the_run_by_step_and_dof(moves):
    sim = moves.world("empty")
    sim.step(3)
    sim.data.qvel[4] = 1e12
    with pytest.raises(SimulationInvalid, match="BADQVEL") as caught:
        sim.step(10)
    assert caught.value.step == 3
    assert caught.value.dof == "joint joint5 (dof 4)"


def test_a_control_that_mujoco_refuses_names_its_actuator(moves):
    sim = moves.world("empty")
    sim.data.ctrl[14] = np.nan
    with pytest.raises(SimulationInvalid, match="actuator grip"):
        sim.step()


def test_objects_that_begin_inside_each_other_are_no_valid_run():
    settings = shipped_scene("tabletop")
    red, blue = (dataclasses.replace(item, region=None) for item in settings.objects)
    blue = dataclasses.replace(blue, position_m=(0.5, -0.08))
    crossed = dataclasses.replace(settings, objects=(red, blue))
    with pytest.raises(SimulationInvalid, match=r"cup_blue begin .* mm inside"):
        SimWorld(build_scene(crossed, seed=0))


def test_a_gripper_command_out_of_range_is_refused(moves):
    sim = moves.world("empty")
    for width, force in ((0.09, 10.0), (np.nan, 10.0), (0.02, 500.0), (0.02, np.nan)):
        with pytest.raises(SimulationInvalid, match="gripper"):
            sim.set_gripper(width, force)


def test_an_unknown_object_is_named(moves):
    with pytest.raises(RobotError, match=r"no object 'cup_green'.*known: cup_red, cup_blue"):
        moves.world("tabletop").object_pose("cup_green")
