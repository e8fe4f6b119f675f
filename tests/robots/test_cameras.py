"""Cameras against geometry that is known, and OpenGL that is missing."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from interlock.robots.geometry import RobotError
from interlock.robots.gl_camera import GlCamera
from interlock.robots.gl_probe import GlError, choose_backend, try_backend
from interlock.robots.picture import geom_names
from interlock.robots.ray_camera import RayCamera

PLACES = {"cup_red": [0.62, -0.21], "cup_blue": [0.40, 0.09]}


@pytest.fixture(scope="module")
def scene(moves):
    """A red cup near and to the robot's right, a blue one far and to its left."""
    sim = moves.world("tabletop")
    for name, (x, y) in PLACES.items():
        sim.disturbances.put(name, np.array([x, y, 0.0505, 1.0, 0, 0, 0]))
    sim.step(100)
    return sim


def picture_of(sim, camera, width=200, height=120, **options):
    return RayCamera(sim.model, camera, width=width, height=height).render(sim.data, **options)


def seen(sim, picture, name):
    return picture.segmentation == geom_names(sim.model).index(name)


@pytest.mark.parametrize("camera", ["front", "side", "wrist"])
def test_a_cup_is_seen_where_projection_says_at_the_depth_it_has(scene, camera):
    picture = picture_of(scene, camera)
    for name in PLACES:
        mask = seen(scene, picture, name)
        rows, columns = np.nonzero(mask)
        u, v, depth = picture.view.project(scene.object_pose(name)[None, :3])[0]
        assert abs(columns.mean() + 0.5 - u) < 4
        assert abs(rows.mean() + 0.5 - v) < 6
        assert depth - 0.09 < picture.depth_m[mask].mean() < depth


def test_every_depth_pixel_unprojects_onto_the_thing_it_shows(scene):
    picture = picture_of(scene, "side")
    rows, columns = np.nonzero(seen(scene, picture, "cup_red"))
    pixels = np.stack([columns + 0.5, rows + 0.5, picture.depth_m[rows, columns]], axis=1)
    off = picture.view.unproject(pixels) - scene.object_pose("cup_red")[:3]
    on_side = np.abs(np.linalg.norm(off[:, :2], axis=1) - 0.03) < 1e-4
    on_top = np.abs(off[:, 2] - 0.05) < 1e-4
    assert (on_side | on_top).all()


def test_pictures_are_not_mirrored(scene):
    front, side = picture_of(scene, "front"), picture_of(scene, "side")
    centre = {
        (view, name): np.argwhere(seen(scene, picture, name)).mean(axis=0)
        for view, picture in (("front", front), ("side", side))
        for name in PLACES
    }
    # The front camera faces the robot: the robot's right (-y) is on its left.
    assert centre["front", "cup_red"][1] < centre["front", "cup_blue"][1]
    assert centre["front", "cup_red"][0] > centre["front", "cup_blue"][0]
    # The side camera stands at -y and looks along +y: x grows to the right.
    assert centre["side", "cup_red"][1] > centre["side", "cup_blue"][1]


def test_without_shading_a_pixel_has_exactly_the_colour_of_its_object(scene):
    picture = picture_of(scene, "front", shaded=False)
    for item in scene.scene.objects:
        colors = picture.rgb[seen(scene, picture, item.name)]
        assert (colors == np.round(np.array(item.rgb) * 255)).all()


def test_shapes_and_types_are_those_promised(scene):
    picture = picture_of(scene, "top", width=64, height=48)
    assert (picture.rgb.shape, picture.rgb.dtype) == ((48, 64, 3), np.uint8)
    assert (picture.depth_m.shape, picture.depth_m.dtype) == ((48, 64), np.float32)
    assert (picture.segmentation.shape, picture.segmentation.dtype) == ((48, 64), np.int32)


def test_where_nothing_is_seen_depth_is_zero(scene):
    picture = picture_of(scene, "side", height=240)
    sky = picture.segmentation == -1
    assert sky.any()
    assert not picture.depth_m[sky].any()
    assert (picture.depth_m[~sky] > 0).all()


def test_the_same_state_gives_the_same_bytes(scene):
    first, second = picture_of(scene, "front"), picture_of(scene, "front")
    assert first.rgb.tobytes() == second.rgb.tobytes()
    assert first.rgb is not second.rgb


def test_an_unknown_camera_and_a_silly_size_are_refused(scene):
    with pytest.raises(RobotError, match=r"no camera 'frnt' in this scene; known: .*front"):
        picture_of(scene, "frnt")
    with pytest.raises(RobotError, match="outside 1 to 4096"):
        picture_of(scene, "front", width=0)


def test_opengl_agrees_with_ray_casting(scene):
    backend = try_backend("egl")
    if not backend.works:
        pytest.skip(f"egl does not work here: {backend.reason}")
    ours = picture_of(scene, "front")
    with GlCamera(scene.model, "front", width=200, height=120, backend=backend) as camera:
        theirs = camera.render(scene.data)
    assert (ours.segmentation == theirs.segmentation).mean() > 0.99
    same = (ours.segmentation == theirs.segmentation) & (ours.segmentation >= 0)
    assert np.median(np.abs(ours.depth_m - theirs.depth_m)[same]) < 1e-4


def test_a_misspelt_back_end_is_one_line_with_the_way_out():
    with pytest.raises(GlError, match="MUJOCO_GL=elg: no such back end; did you mean 'egl'"):
        choose_backend({"MUJOCO_GL": "elg"})


def test_a_back_end_that_cannot_work_here_says_why_and_what_to_install(monkeypatch):
    for display in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(display, raising=False)
    with pytest.raises(
        GlError, match=r"MUJOCO_GL=glfw does not work here: glfw: .*\(mend: "
    ) as caught:
        choose_backend({"MUJOCO_GL": "glfw"})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", ["elg", "osmesa", "egl", "disabled"])
def test_physics_does_not_care_about_the_back_end_and_leaves_the_setting_alone(value):
    script = (
        "import os, interlock.robots.world\n"
        "from interlock.robots.ray_camera import RayCamera\n"
        "print(os.environ['MUJOCO_GL'])"
    )
    environment = {**os.environ, "MUJOCO_GL": value}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == value
