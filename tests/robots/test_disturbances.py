"""What an experiment can do to a scene."""

from __future__ import annotations

import numpy as np
import pytest

from interlock.robots import panda
from interlock.robots.geometry import RobotError


def test_a_push_moves_a_standing_cup_by_what_was_asked(moves):
    sim = moves.world()
    sim.step(100)
    before = sim.object_pose("cup_red")
    sim.disturbances.push("cup_red", [0.0, 0.08, 0.0], 0.3)
    sim.step(300)
    after = sim.object_pose("cup_red")
    assert np.abs(after[:3] - before[:3] - [0.0, 0.08, 0.0]).max() < 0.001
    assert after[3] > 0.999


def test_a_removed_object_is_far_away_and_can_come_back(moves):
    sim = moves.world()
    home = sim.object_pose("cup_red")
    sim.disturbances.remove("cup_red")
    sim.step(200)
    assert sim.object_pose("cup_red")[2] < -0.6
    sim.disturbances.put("cup_red", home)
    sim.step(200)
    assert np.abs(sim.object_pose("cup_red")[:3] - home[:3]).max() < 0.002


def test_an_attached_object_goes_where_its_carrier_goes(moves):
    sim = moves.world("person")
    sim.disturbances.attach("cup_red", "person_hand")
    before, hand = sim.object_pose("cup_red"), sim.person_pose
    for _ in range(100):
        hand[2] += 0.002
        sim.disturbances.move_person(hand)
        sim.step(2)
    sim.step(100)
    assert np.abs(sim.object_pose("cup_red")[:3] - before[:3] - [0, 0, 0.2]).max() < 0.005
    sim.disturbances.detach("cup_red")
    sim.step(500)
    assert sim.object_pose("cup_red")[2] < before[2] + 0.05


def test_an_object_attached_to_the_robot_moves_with_the_arm(moves):
    sim = moves.world()
    sim.disturbances.attach("cup_blue", "hand")
    before = moves.in_tool(sim, "cup_blue")
    moves.move(sim, panda.HOME, panda.HOME + np.array([0.3, -0.3, 0, 0, 0, 0, 0]), 1.0)
    sim.step(100)
    assert np.linalg.norm(moves.in_tool(sim, "cup_blue") - before) < 0.005


def test_the_belt_carries_a_cup_at_its_speed(moves):
    sim = moves.world("conveyor")
    sim.step(500)
    start = sim.object_pose("cup_red")[1]
    sim.step(1000)
    assert (sim.object_pose("cup_red")[1] - start) / 2.0 == pytest.approx(0.03, rel=0.05)
    sim.disturbances.set_belt(0.0)
    sim.step(200)
    start = sim.object_pose("cup_red")[1]
    sim.step(500)
    assert abs(sim.object_pose("cup_red")[1] - start) < 0.001


def test_the_robot_touching_a_person_is_measured(moves):
    sim = moves.world("person")
    hand = sim.person_pose
    hand[:3] = sim.tool_pose[:3] + np.array([0.0, 0.0, -0.03])
    sim.disturbances.move_person(hand)
    sim.step(20)
    assert sim.forces.take_peaks_n()["person_hand"] > 1.0


def test_what_cannot_be_done_is_refused(moves):
    sim = moves.world("empty")
    with pytest.raises(RobotError, match="no object 'cup'"):
        sim.disturbances.push("cup", [0.1, 0, 0], 0.3)
    with pytest.raises(RobotError, match="no person"):
        sim.disturbances.move_person(np.array([0.5, 0, 0.5, 1, 0, 0, 0]))
    with pytest.raises(RobotError, match="no conveyor"):
        sim.disturbances.set_belt(0.1)
    with pytest.raises(RobotError, match="no push"):
        moves.world().disturbances.push("cup_red", [np.nan, 0, 0], 0.3)
