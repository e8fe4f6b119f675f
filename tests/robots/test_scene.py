"""Scenes: strict settings, and layouts that depend on their seed and on nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from interlock.messages.errors import SettingsError
from interlock.messages.settings import build
from interlock.robots.layout import draw_layout, layout_hash
from interlock.robots.scene import build_scene, scene_obstacles
from interlock.robots.scene_settings import SceneSettings, load_scene, shipped_scene

SHIPPED = ("tabletop", "person", "conveyor", "empty", "cubes")


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_scene_builds_with_its_objects_and_cameras(name):
    settings = shipped_scene(name)
    scene = build_scene(settings, seed=1)
    assert [item.name for item in scene.objects] == list(scene.layout)
    for camera in ("front", "top", "side", "wrist"):
        assert scene.model.camera(camera).id >= 0


def test_the_layout_depends_on_its_seed_only():
    settings = shipped_scene("tabletop")
    alone = layout_hash(draw_layout(settings, 5))
    np.random.seed(99)  # noqa: NPY002 - the point is that others use the global generator
    np.random.rand(17)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    assert layout_hash(draw_layout(settings, 5)) == alone
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


def test_another_seed_gives_another_layout_and_another_hash():
    settings = shipped_scene("tabletop")
    hashes = {layout_hash(draw_layout(settings, seed)) for seed in range(20)}
    assert len(hashes) == 20


def test_drawn_objects_keep_their_gap_and_their_regions():
    settings = shipped_scene("cubes")
    for seed in range(30):
        layout = draw_layout(settings, seed)
        for i, item in enumerate(settings.objects):
            place = layout[item.name][:2]
            assert (place >= item.region.low_m).all()
            assert (place <= item.region.high_m).all()
            for other in settings.objects[:i]:
                distance = np.linalg.norm(place - layout[other.name][:2])
                assert distance >= item.radius_m + other.radius_m + settings.min_gap_m


def test_regions_without_room_are_refused():
    cup = {"shape": "cylinder", "size_m": [0.03, 0.05], "color": "red", "position_m": [0.5, 0.0]}
    cup["region"] = {"low_m": [0.5, 0.0], "high_m": [0.51, 0.01]}
    crowded = {"name": "crowded", "objects": [{"name": "a", **cup}, {"name": "b", **cup}]}
    with pytest.raises(SettingsError, match="no room for 'b'"):
        draw_layout(build(SceneSettings, crowded, where="test"), 0)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"colour": "red"}, "unknown key 'colour'; did you mean 'color'"),
        ({"color": "rde"}, "unknown color 'rde'; did you mean 'red'"),
        ({"size_m": [0.03]}, "size_m of a cylinder is 2 numbers"),
        ({"mass_kg": -1}, "outside 0.001 to 3"),
        ({"stands_on": "conveyor"}, "on a conveyor, but there is none"),
        ({"name": "table"}, "reserved"),
    ],
)
def test_a_bad_object_is_refused_by_name(change, problem):
    cup = {"name": "cup", "shape": "cylinder", "size_m": [0.03, 0.05], "color": "red"}
    cup |= {"position_m": [0.5, 0.0]} | change
    with pytest.raises(SettingsError, match=problem):
        build(SceneSettings, {"name": "s", "objects": [cup]}, where="s.yml")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"tray": {"center_m": [0, 0], "half_m": [0.1, -0.1]}}, "tray: half_m .* is outside"),
        ({"person": {"position_m": [0, 0, 0], "radius": 1}}, "did you mean 'radius_m'"),
        (
            {"cameras": {"a": {"position_m": [0, 0, 1], "look_at_m": [0, 0, 0]}}},
            "cameras.a: the camera looks along its up direction",
        ),
        ({"cameras": {"wrist": {"position_m": [1, 0, 1], "look_at_m": [0, 0, 0]}}}, "wrist"),
        ({"min_gap_m": -1}, "min_gap_m"),
        ({"noslip_iterations": 2.5}, "a whole number"),
    ],
)
def test_a_bad_scene_is_refused_by_place(change, problem):
    with pytest.raises(SettingsError, match=problem):
        build(SceneSettings, {"name": "s"} | change, where="s.yml")


def test_a_missing_scene_file_is_one_line(tmp_path):
    with pytest.raises(SettingsError, match="cannot read"):
        load_scene(tmp_path / "none.yml")
    with pytest.raises(SettingsError, match="did you mean 'tabletop'"):
        shipped_scene("tabeltop")


def test_obstacles_name_everything_that_can_be_hit():
    settings = shipped_scene("person")
    names = {item.name for item in scene_obstacles(settings, draw_layout(settings, 0))}
    assert {"table", "tray", "cup_red", "cup_blue", "person_hand"} <= names
