"""The checker never says "clear" where the simulated arm touches, and measures true distances."""

from __future__ import annotations

import inspect
import math

import mujoco
import numpy as np
import pytest

from interlock.gate.robot import RobotModel
from interlock.robots import panda
from interlock.robots.checker import PandaChecker
from interlock.robots.geometry import Obstacle, RobotError, pose
from interlock.robots.layout import draw_layout
from interlock.robots.scene import scene_obstacles
from interlock.robots.scene_settings import shipped_scene

LOW, HIGH = panda.LIMITS.position_low, panda.LIMITS.position_high
FINGERS = {"left_finger", "right_finger"}


def checker_of(name, seed=3):
    settings = shipped_scene(name)
    return PandaChecker(scene_obstacles(settings, draw_layout(settings, seed)))


def over(checker, x, y, z):
    return checker.inverse(pose((x, y, z), (0.0, 1.0, 0.0, 0.0)), panda.HOME)


def others(proximities):
    return {item.other for item in proximities}


def nearest(proximities, other):
    return min((p.distance_m for p in proximities if p.other == other), default=math.inf)


def test_the_checker_has_every_part_of_the_gates_protocol_with_the_same_arguments():
    for name, declared in inspect.getmembers(RobotModel, inspect.isfunction):
        if not name.startswith("_"):
            built = getattr(PandaChecker, name)
            expected = list(inspect.signature(declared).parameters)
            assert list(inspect.signature(built).parameters)[: len(expected)] == expected
    for name in ("joint_names", "limits", "gripper_width_range_m"):
        assert hasattr(PandaChecker, name)


def test_wherever_the_simulated_arm_touches_something_the_checker_says_so(moves):
    sim, checker = moves.world("person"), checker_of("person")
    rng = np.random.default_rng(5)
    touching = 0
    for _ in range(3000):
        q = rng.uniform(LOW, HIGH)
        sim.data.qpos[:7] = q
        mujoco.mj_kinematics(sim.model, sim.data)
        mujoco.mj_collision(sim.model, sim.data)
        hits = _robot_hits(sim)
        if hits:
            touching += 1
            found = {frozenset((p.part, p.other)) for p in checker.proximities(q, 0.0)}
            assert hits <= found
    assert touching > 300


def _robot_hits(sim):
    hits = set()
    for contact in sim.data.contact:
        parts = [
            sim.model.body(int(sim.model.geom_bodyid[g])).name.replace("world", "floor")
            for g in contact.geom
        ]
        geoms = [sim.model.geom(int(g)).name for g in contact.geom]
        arm = [p for p in parts if p.startswith("link") or p == "hand" or p in FINGERS]
        if contact.dist < 0 and arm and "floor" not in parts and "link0" not in parts:
            names = [p if p in arm else g for p, g in zip(parts, geoms, strict=True)]
            hits.add(frozenset(names))
    return hits


@pytest.mark.parametrize("shape", ["box", "sphere", "cylinder", "capsule"])
def test_distances_are_those_of_points_on_the_surfaces(shape):
    size = {"box": (0.1, 0.05, 0.02), "sphere": (0.06,)}.get(shape, (0.04, 0.09))
    turn = np.array([0.9, 0.2, -0.3, 0.25]) / np.linalg.norm([0.9, 0.2, -0.3, 0.25])
    rng = np.random.default_rng(6)
    for place in ((0.55, 0.1, 0.2), (0.4, -0.3, 0.5), (0.62, 0.0, 0.42)):
        obstacle = Obstacle(
            name="thing", shape=shape, size=size, world_from_obstacle=pose(place, turn)
        )
        checker = PandaChecker([obstacle])
        said = nearest(checker.proximities(panda.HOME, 1.0), "thing")
        # A sampled surface is never nearer than the truth, and nearly as near.
        sampled = _sampled_distance(checker, size, shape, obstacle.world_from_obstacle, rng)
        assert said <= sampled + 1e-6
        assert said >= sampled - 0.012


def _sampled_distance(checker, size, shape, world_from_obstacle, rng):
    model, data = checker._model, checker._data
    n = 4000
    direction = rng.normal(size=(n, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    along = rng.uniform(-1, 1, n)
    if shape == "box":
        points = rng.uniform(-1, 1, (n, 3))
        points[np.arange(n), rng.integers(0, 3, n)] = rng.choice([-1, 1], n)
        points *= size
    elif shape == "sphere":
        points = direction * size[0]
    elif shape == "capsule":
        points = direction * size[0]
        points[:, 2] += along * size[1]
    else:
        flat = direction[:, :2] / np.linalg.norm(direction[:, :2], axis=1, keepdims=True)
        caps = np.where(rng.random(n) < 0.5, np.sign(along), along)
        radius = np.where(np.abs(caps) == 1, np.sqrt(rng.random(n)), 1.0) * size[0]
        points = np.column_stack([flat * radius[:, None], caps * size[1]])
    rotation = np.zeros(9)
    mujoco.mju_quat2Mat(rotation, world_from_obstacle[3:])
    world = points @ rotation.reshape(3, 3).T + world_from_obstacle[:3]
    best = math.inf
    for geom in range(model.ngeom):
        part, name = checker._parts[geom], model.geom(geom).name
        if part in ("link0", "thing") or name in ("left_finger_0", "right_finger_0"):
            continue
        local = (world - data.geom_xpos[geom]) @ data.geom_xmat[geom].reshape(3, 3)
        best = min(best, _to_shape(model, geom, local).min())
    return best


def _to_shape(model, geom, local):
    size = model.geom_size[geom]
    if int(model.geom_type[geom]) == mujoco.mjtGeom.mjGEOM_CAPSULE:
        local = local.copy()
        local[:, 2] -= np.clip(local[:, 2], -size[1], size[1])
        return np.linalg.norm(local, axis=1) - size[0]
    outside = np.abs(local) - model.geom_aabb[geom][3:]
    return np.linalg.norm(np.maximum(outside, 0), axis=1) + np.minimum(outside.max(axis=1), 0)


@pytest.mark.parametrize("thickness", [0.002, 0.02, 0.04])
def test_a_link_right_through_a_board_is_never_called_clear(thickness):
    rng = np.random.default_rng(8)
    board = Obstacle(
        name="board",
        shape="box",
        size=(0.4, 0.4, thickness / 2),
        world_from_obstacle=pose((0, 0, 0)),
    )
    checker = PandaChecker([board])
    data, model = checker._data, checker._model
    for _ in range(300):
        checker.proximities(rng.uniform(LOW, HIGH), 0.0)
        geom = model.geom(rng.choice(["link3_0", "link4_0", "link5_1", "hand_0"])).id
        # The middle of the link is in the board, however it is turned.
        turn = rng.normal(size=4)
        place = pose(data.geom_xpos[geom], turn / np.linalg.norm(turn))
        checker.move_obstacle("board", place)
        parts = {p.part for p in checker.proximities(data.qpos[:7].copy(), 0.0)}
        assert checker._parts[geom] in parts


def test_a_half_space_is_solid_below_and_nowhere_else():
    floor = Obstacle(name="floor", shape="halfspace", size=(), world_from_obstacle=pose((0, 0, 0)))
    checker = PandaChecker([floor])
    low = over(checker, 0.5, 0.0, 0.05)
    tip_z = 0.05 - (panda.FINGER_Z_M + 0.055 - panda.TCP_Z_M)
    assert nearest(checker.proximities(low, 0.1), "floor") == pytest.approx(tip_z, abs=1e-4)
    checker.move_obstacle("floor", pose((0, 0, 0.3)))
    assert nearest(checker.proximities(low, 0.1), "floor") < -0.2


def test_at_home_nothing_is_near():
    assert checker_of("tabletop").proximities(panda.HOME, 0.05) == []


def test_a_moved_obstacle_is_found_where_it_is():
    checker = checker_of("person")
    tool = checker.forward(panda.HOME)
    assert "person_hand" not in others(checker.proximities(panda.HOME, 0.05))
    checker.move_obstacle("person_hand", tool)
    assert nearest(checker.proximities(panda.HOME, 0.05), "person_hand") < 0


def test_only_what_is_asked_for_is_measured():
    checker = checker_of("person")
    everything = checker.proximities(panda.HOME, 1.0)
    people = checker.proximities(panda.HOME, 1.0, {"person_hand"})
    assert others(people) == {"person_hand"}
    assert set(people) == {p for p in everything if p.other == "person_hand"}


def test_what_is_held_moves_with_the_hand_and_may_touch_it():
    checker = checker_of("tabletop")
    x, y = draw_layout(shipped_scene("tabletop"), 3)["cup_red"][:2]
    grasp = over(checker, x, y, 0.05)
    assert nearest(checker.proximities(grasp, 0.02), "cup_red") < 0
    checker.hold_at(grasp)
    checker.hold("cup_red")
    assert "cup_red" not in others(checker.proximities(grasp, 0.02))
    lifted = over(checker, x, y, 0.3)
    assert checker.proximities(lifted, 0.02) == []
    pressed = over(checker, x, y, 0.03)
    assert nearest(checker.proximities(pressed, 0.02), "table") == pytest.approx(-0.0195, abs=1e-3)
    checker.hold_at(lifted)
    checker.hold(None)
    assert "cup_red" in others(checker.proximities(lifted, 0.02))
    fingers = {p.part for p in checker.proximities(grasp, 0.02) if p.other == "cup_red"} & FINGERS
    assert not fingers


def test_a_held_object_is_compared_with_other_objects():
    checker = checker_of("tabletop")
    layout = draw_layout(shipped_scene("tabletop"), 3)
    grasp = over(checker, *layout["cup_red"][:2], 0.05)
    checker.hold_at(grasp)
    checker.hold("cup_red")
    carried = over(checker, *layout["cup_blue"][:2], 0.16)
    pairs = {(p.part, p.other) for p in checker.proximities(carried, 0.02)}
    assert ("cup_red", "cup_blue") in pairs


def test_what_is_out_of_the_grippers_reach_cannot_be_held():
    checker = checker_of("tabletop")
    checker.hold_at(panda.HOME)
    for name in ("cup_red", "table"):
        with pytest.raises(RobotError, match=f"'{name}' reaches .* from the tool point"):
            checker.hold(name)
    assert "cup_red" in others(checker.proximities(over(checker, 0.5, 0.0, 0.1), 0.5))


def test_the_arm_in_itself_is_found():
    folded = np.array([0.0, 1.6, 0.0, -3.0, 0.0, 0.05, 0.0])
    pairs = {(p.part, p.other) for p in PandaChecker().proximities(folded, 0.0)}
    assert any(part.startswith(("link", "hand")) for part, _ in pairs)


def test_a_known_opening_leaves_room_between_the_fingers():
    checker = checker_of("tabletop")
    x, y = draw_layout(shipped_scene("tabletop"), 3)["cup_red"][:2]
    around = over(checker, x, y, 0.07)
    checker.set_gripper_width(0.08)
    parts = {p.part for p in checker.proximities(around, 0.005) if p.other == "cup_red"}
    assert not parts & FINGERS
    checker.set_gripper_width(None)
    assert nearest(checker.proximities(around, 0.005), "cup_red") < 0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_position_that_is_not_a_number_is_refused_and_not_called_clear(bad):
    q = panda.HOME.copy()
    q[3] = bad
    with pytest.raises(RobotError, match="finite"):
        checker_of("tabletop").proximities(q, 0.05)


def test_unusable_obstacles_are_refused_by_name():
    good = pose((0.5, 0, 0.1))
    for shape, size, place, problem in (
        ("box", (0.1, 0.1), good, "needs 3 positive sizes"),
        ("sphere", (-0.1,), good, "needs 1 positive"),
        ("blob", (0.1,), good, "shape 'blob'"),
        ("sphere", (0.1,), good * np.nan, "finite"),
    ):
        thing = Obstacle(name="thing", shape=shape, size=size, world_from_obstacle=place)
        with pytest.raises(RobotError, match=f"'thing': .*{problem}"):
            PandaChecker([thing])
    with pytest.raises(RobotError, match="was not declared; known: none"):
        PandaChecker().move_obstacle("cup", good)
