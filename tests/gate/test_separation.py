"""People, moving zones, and what the Gate does between commands."""

import numpy as np
import pytest

from interlock.messages import AdmittedCommand, Event
from interlock.robots import kinematics, panda

MS = 1_000_000
PEOPLE = """
checks:
  data_age: {max_age_ms: 5000, max_state_age_ms: 100}
  joint_velocity:
  path:
  separation: {people: [hand], person_speed_mps: 1.6, required: true}
"""
TURN = np.array([0.3, 0, 0, 0, 0, 0, 0])


def at(x, y, z=0.4):
    return np.array([x, y, z, 1.0, 0.0, 0.0, 0.0])


def beside(rig, distance_m):
    """A place at a distance from the tool, on the side that TURN moves to."""
    tool = kinematics.forward(rig.position)[:3]
    return at(tool[0], tool[1] + distance_m, tool[2])


@pytest.fixture
def people(make_rig):
    rig = make_rig(PEOPLE)
    rig.observe()
    return rig


def test_nothing_moves_while_a_required_person_was_never_seen(people):
    assert people.send(people.task(), people.home + 0.002).codes == ("person_unseen",)


def test_the_six_terms_and_the_distance_are_in_the_verdict(people):
    people.see(hand=beside(people, 0.9))
    verdict = people.send(people.task(), people.home + TURN * 0.02)
    assert verdict.admitted
    names = ("S_h", "S_r", "S_s", "C", "Z_d", "Z_r", "distance")
    terms = dict(zip(names, verdict.separation_m, strict=True))
    assert terms["S_h"] == pytest.approx(1.6 * (0.02 + 0.03), abs=0.05)
    assert terms["Z_d"] == 0.02
    assert 0.2 < terms["distance"] <= 1.0


def test_a_person_that_is_too_near_stops_the_motion_and_the_sentence_says_by_how_much(people):
    people.see(hand=beside(people, 0.25))
    verdict = people.send(people.task(), people.home + TURN * 0.02)
    assert verdict.codes[-1] == "separation"
    assert "this motion needs" in verdict.reasons[-1]
    assert verdict.separation_m[:6].sum() > verdict.separation_m[6]


def test_the_margin_grows_with_the_age_of_the_persons_position(people):
    token = people.task()
    people.see(hand=beside(people, 0.7))
    assert people.send(token, people.home + TURN * 0.02).admitted
    people.tick(400)
    verdict = people.send(token, people.position + TURN * 0.02)
    assert "separation" in verdict.codes
    assert "seen 400 ms ago" in verdict.sentence


def test_a_fixed_age_limit_can_be_set_as_well(make_rig):
    rig = make_rig(PEOPLE.replace("required: true", "max_age_ms: 200"))
    rig.observe()
    token = rig.task()
    rig.see(hand=at(0.5, 1.4))
    assert rig.send(token, rig.home + 0.001).admitted
    rig.tick(300)
    assert "person_age" in rig.send(token, rig.position + 0.001).codes


def test_an_arm_beside_a_person_may_move_away_but_not_on(people):
    token = people.task()
    people.see(hand=beside(people, 0.25))
    assert "separation" in people.send(token, people.home + TURN * 0.02).codes
    away = people.home - TURN * np.arange(1, 21)[:, None] * 0.02
    retreat = people.send(token, away)
    assert retreat.admitted, retreat.sentence
    assert retreat.codes == ()


def test_away_from_where_a_person_was_long_ago_is_no_retreat(people):
    token = people.task()
    people.see(hand=beside(people, 0.3))
    people.tick(300)
    away = people.home - TURN * np.arange(1, 21)[:, None] * 0.02
    assert "separation" in people.send(token, away).codes


def test_a_person_who_comes_near_in_mid_motion_stops_the_arm(people):
    token = people.task()
    people.see(hand=beside(people, 1.2))
    rows = people.home + TURN * np.arange(1, 101)[:, None] * 0.02
    assert people.send(token, rows).admitted
    people.tick(200)
    people.see(hand=beside(people, 0.3))
    assert isinstance(people.told[-1], AdmittedCommand)
    assert any(isinstance(x, Event) and "held" in x.text for x in people.told)
    assert people.gate.status(people.now).state == "held"
    people.tick(200)
    assert people.gate.at_rest(people.now)


def test_a_person_nobody_sees_any_more_stops_the_arm(people):
    token = people.task()
    people.see(hand=beside(people, 0.8))
    rows = people.home + TURN * np.arange(1, 151)[:, None] * 0.02
    assert people.send(token, rows).admitted
    people.tick(1500)
    assert people.gate.at_rest(people.now)
    assert people.position[0] < rows[-1, 0] - 0.1


def test_a_zone_moves_with_what_it_follows(make_rig):
    rig = make_rig(
        """
checks: {data_age: {max_age_ms: 5000}, joint_velocity: , path: }
zones: [{name: around_cup, shape: sphere, size_m: [0.25], follows: cup_red}]
"""
    )
    rig.observe()
    token = rig.task(touches=("cup_red",))
    goal = kinematics.inverse(np.array([0.5, 0.0, 0.2, 0, 1, 0, 0]), panda.HOME)
    rig.see(cup_red=at(0.5, 0.55, 0.05))
    assert rig.send(token, goal, period_ms=3000, ends_at_rest=True).admitted
    rig.tick(500)
    rig.see(cup_red=at(0.55, 0.0, 0.05))
    rig.tick(300)
    assert rig.gate.at_rest(rig.now)
    again = rig.send(token, goal, period_ms=3000, ends_at_rest=True)
    assert "path_around_cup" in again.codes


def test_a_robot_whose_state_is_silent_is_stopped(rig):
    token = rig.task()
    rows = rig.home + TURN * np.arange(1, 101)[:, None] * 0.02
    rig.send(token, rows)
    rig.tick(100)
    rig.now += 200 * MS
    replies = rig.gate.tick(rig.now)
    assert any(isinstance(x, AdmittedCommand) for x in replies)
    assert rig.gate.status(rig.now).state == "held"


def test_what_the_gripper_holds_is_kept_clear_of_things_too(rig):
    token = rig.task(touches=("cup_red",))
    tool = kinematics.forward(rig.home)
    rig.see(cup_red=tool.copy(), cup_blue=at(tool[0], tool[1] + 0.2, tool[2] - 0.08))
    rig.grip = (0.06, 0.03, 20.0)
    rig.observe()
    assert rig.gate.surroundings.held == "cup_red"
    rows = rig.home + TURN * np.arange(1, 101)[:, None] * 0.02
    verdict = rig.send(token, rows)
    assert any("cup_blue" in code for code in verdict.codes)
    rig.grip = (0.08, 0.08, 0.0)
    rig.observe()
    assert rig.gate.surroundings.held == ""
