"""Build the simulated world of a scene: MJCF text, model, layout, and what stands in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from interlock.robots import panda_model, scene_model
from interlock.robots.geometry import Obstacle, pose
from interlock.robots.layout import Layout, draw_layout, layout_hash
from interlock.robots.menagerie import find_menagerie
from interlock.robots.physics import mujoco
from interlock.robots.scene_settings import COLORS

if TYPE_CHECKING:
    from interlock.robots.geometry import Shape
    from interlock.robots.scene_settings import SceneSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneObject:
    """Something that can be grasped, as trackers and checks need it.

    Attributes:
        name: Name of the object.
        shape: box (half sizes), cylinder (radius, half height) or sphere (radius).
        size: Sizes of the shape, in m.
        color: Name of its colour.
        rgb: The colour, each from 0 to 1.
        mass_kg: Mass, in kg.
    """

    name: str
    shape: Shape
    size: tuple[float, ...]
    color: str
    rgb: tuple[float, float, float]
    mass_kg: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scene:
    """A scene that is ready to simulate.

    Attributes:
        settings: What it was built from.
        model: The compiled MuJoCo model; one owner each, the simulation changes it.
        layout: world_from_object of every object, shape (7,).
        layout_hash: SHA-256 of the layout.
        objects: What can be grasped.
        fixtures: What stands still: table, tray, conveyor, as obstacles for the checks.
    """

    settings: SceneSettings
    model: Any
    layout: Layout
    layout_hash: str
    objects: tuple[SceneObject, ...]
    fixtures: tuple[Obstacle, ...]


def build_scene(settings: SceneSettings, seed: int) -> Scene:
    """Build a scene with the layout of a seed.

    Raises:
        SettingsError: If the layout has no room.
        RobotError: If the settings ask for the Menagerie arm and there is none.
    """
    layout = draw_layout(settings, seed)
    menagerie = settings.arm == "menagerie"
    arm = find_menagerie().arm() if menagerie else panda_model.arm("body")
    text = scene_model.scene_text(settings, arm, layout)
    model = mujoco.MjModel.from_xml_string(text)
    return Scene(
        settings=settings,
        model=model,
        layout=layout,
        layout_hash=layout_hash(layout),
        objects=scene_objects(settings),
        fixtures=scene_fixtures(settings),
    )


def scene_objects(settings: SceneSettings) -> tuple[SceneObject, ...]:
    """Return what can be grasped; needs no simulator."""
    return tuple(
        SceneObject(
            name=item.name,
            shape=item.shape,
            size=item.size_m,
            color=item.color,
            rgb=COLORS[item.color],
            mass_kg=item.mass_kg,
        )
        for item in settings.objects
    )


def scene_fixtures(settings: SceneSettings) -> tuple[Obstacle, ...]:
    """Return what stands still, as obstacles; needs no simulator."""
    return tuple(
        Obstacle(name=name, shape="box", size=half, world_from_obstacle=pose(center))
        for name, center, half in scene_model.fixture_boxes(settings)
    )


def scene_obstacles(settings: SceneSettings, layout: Layout) -> tuple[Obstacle, ...]:
    """Return fixtures, objects at their layout, and the person's hand, as obstacles."""
    movable = tuple(
        Obstacle(
            name=item.name,
            shape=item.shape,
            size=item.size_m,
            world_from_obstacle=layout[item.name].copy(),
        )
        for item in settings.objects
    )
    person = settings.person
    if person is None:
        return scene_fixtures(settings) + movable
    hand = Obstacle(
        name="person_hand",
        shape="capsule",
        size=(person.radius_m, person.half_length_m),
        world_from_obstacle=pose(person.position_m, scene_model.PERSON_TURN),
    )
    return (*scene_fixtures(settings), *movable, hand)
