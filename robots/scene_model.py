"""The MJCF text of a scene around the arm.

2 ms steps, ``implicitfast``, elliptic cones and impratio 10 are measured to hold a grasp;
RK4 and MuJoCo's default cone drop it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interlock.robots.scene_settings import COLORS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from interlock.robots.fixture_settings import CameraSettings
    from interlock.robots.layout import Layout
    from interlock.robots.panda_model import ArmText
    from interlock.robots.scene_settings import ObjectSettings, SceneSettings

TIMESTEP_S = 0.002
TABLE_HALF_THICKNESS_M = 0.02
FLOOR_Z_M = -0.75
TRAY_FLOOR_HALF_M = 0.004
TRAY_RIM_HALF_M = (0.004, 0.011)
PERSON_TURN = (0.7071067811865476, -0.7071067811865476, 0.0, 0.0)
OBJECT_CONTACT = 'friction="1 0.01 0.0003" condim="4"'
# What an experiment may fasten an object to.
CARRIERS = ("hand", "person_hand")

Box = tuple[str, tuple[float, float, float], tuple[float, float, float]]


def scene_text(settings: SceneSettings, arm: ArmText, layout: Layout) -> str:
    """Return the MJCF of a scene."""
    objects = "".join(_object(item, layout) for item in settings.objects)
    cameras = "".join(_camera(name, camera) for name, camera in settings.cameras.items())
    return (
        f'<mujoco model="{settings.name}"><compiler angle="radian" autolimits="true"/>'
        f'<option timestep="{TIMESTEP_S}" integrator="implicitfast" cone="elliptic" '
        f'impratio="10" noslip_iterations="{settings.noslip_iterations}" iterations="50">'
        '<flag autoreset="disable"/></option>'
        '<visual><global offwidth="1280" offheight="960"/>'
        '<quality shadowsize="0" offsamples="0"/>'
        '<headlight diffuse="0.4 0.4 0.4" ambient="0.3 0.3 0.3"/></visual>'
        '<worldbody><light pos="0.3 0 2.5" dir="0 0 -1" diffuse="0.6 0.6 0.6"/>'
        '<light pos="1.5 1 2" dir="-1 -0.6 -1.6" diffuse="0.3 0.3 0.3"/>'
        f'<geom name="floor" type="plane" pos="0 0 {FLOOR_Z_M}" size="3 3 0.1" '
        'rgba="0.55 0.57 0.6 1"/>'
        f"{arm.body}{_furniture(settings)}{_person(settings)}{objects}{cameras}</worldbody>"
        f"{arm.rest}<equality>{_welds(settings)}</equality>"
        f"<sensor>{_contact_sensors(settings)}</sensor></mujoco>"
    )


def fixture_boxes(settings: SceneSettings) -> list[Box]:
    """Return name, centre and half sizes, in m, of every box that stands still."""
    boxes: list[Box] = []
    if settings.table is not None:
        (x, y), (hx, hy) = settings.table.center_m, settings.table.half_m
        half = TABLE_HALF_THICKNESS_M
        boxes.append(("table", (x, y, -half), (hx, hy, half)))
    if settings.conveyor is not None:
        (x, y), half3 = settings.conveyor.center_m, settings.conveyor.half_m
        boxes.append(("conveyor", (x, y, half3[2]), half3))
    if settings.tray is not None:
        boxes += _tray_boxes(settings.tray.center_m, settings.tray.half_m)
    return boxes


def contact_targets(settings: SceneSettings) -> list[str]:
    """Return the bodies whose contact force with the robot is measured, in sensor order."""
    targets = [name for name in ("table", "conveyor", "tray") if getattr(settings, name)]
    targets += ["person_hand"] if settings.person else []
    return targets + [item.name for item in settings.objects]


def _tray_boxes(center: tuple[float, float], half: tuple[float, float]) -> list[Box]:
    (x, y), (hx, hy) = center, half
    floor, (rim, rise) = TRAY_FLOOR_HALF_M, TRAY_RIM_HALF_M
    z = floor + rise
    return [
        ("tray", (x, y, floor), (hx, hy, floor)),
        ("tray_rim_front", (x + hx, y, z), (rim, hy, rise)),
        ("tray_rim_back", (x - hx, y, z), (rim, hy, rise)),
        ("tray_rim_left", (x, y + hy, z), (hx, rim, rise)),
        ("tray_rim_right", (x, y - hy, z), (hx, rim, rise)),
    ]


def _furniture(settings: SceneSettings) -> str:
    """Return one body per piece, so that a contact sensor can name it."""
    pieces: dict[str, list[str]] = {}
    speed = settings.conveyor.speed_m_s if settings.conveyor else 0.0
    looks = {
        "table": 'rgba="0.72 0.6 0.45 1" friction="1 0.005 0.0001"',
        "conveyor": f'rgba="0.2 0.22 0.25 1" surfacevel="0 {speed} 0 0 0 0"',
        "tray": 'rgba="0.3 0.6 0.55 1"',
    }
    for name, center, half in fixture_boxes(settings):
        piece = name.split("_")[0]
        pieces.setdefault(piece, []).append(
            f'<geom name="{name}" type="box" pos="{_text(center)}" size="{_text(half)}" '
            f"{looks[piece]}/>"
        )
    bodies = "".join(f'<body name="{n}">{"".join(geoms)}</body>' for n, geoms in pieces.items())
    return bodies + (
        '<geom name="stand" type="box" pos="-0.12 0 -0.385" size="0.12 0.15 0.365" '
        'rgba="0.4 0.4 0.42 1" contype="0" conaffinity="0"/>'
    )


def _person(settings: SceneSettings) -> str:
    if settings.person is None:
        return ""
    size = f"{settings.person.radius_m} {settings.person.half_length_m}"
    return (
        f'<body name="person_hand" mocap="true" pos="{_text(settings.person.position_m)}" '
        f'quat="{_text(PERSON_TURN)}"><geom name="person_hand" type="capsule" size="{size}" '
        'rgba="0.9 0.7 0.6 1"/></body>'
    )


def _object(item: ObjectSettings, layout: Layout) -> str:
    place = layout[item.name]
    return (
        f'<body name="{item.name}" pos="{_text(place[:3])}" quat="{_text(place[3:])}">'
        f'<freejoint name="{item.name}"/><geom name="{item.name}" type="{item.shape}" '
        f'size="{_text(item.size_m)}" mass="{item.mass_kg}" '
        f'rgba="{_text(COLORS[item.color])} 1" {OBJECT_CONTACT}/></body>'
    )


def _camera(name: str, camera: CameraSettings) -> str:
    position = np.array(camera.position_m)
    back = position - np.array(camera.look_at_m)
    back = back / np.linalg.norm(back)
    right = np.cross(np.array(camera.up), back)
    right = right / np.linalg.norm(right)
    axes = _text([*right, *np.cross(back, right)])
    return (
        f'<camera name="{name}" pos="{_text(camera.position_m)}" xyaxes="{axes}" '
        f'fovy="{camera.fovy_deg}"/>'
    )


def _welds(settings: SceneSettings) -> str:
    """Return inactive welds with which an experiment fastens an object to a carrier."""
    carriers = CARRIERS if settings.person else CARRIERS[:1]
    return "".join(
        f'<weld name="{item.name}@{carrier}" body1="{carrier}" body2="{item.name}" active="false"/>'
        for item in settings.objects
        for carrier in carriers
    )


def _contact_sensors(settings: SceneSettings) -> str:
    """Return the net force of the robot on each target, then of each finger on each object."""
    pairs = [("subtree1", "link0", target) for target in contact_targets(settings)]
    for item in settings.objects:
        pairs += [("body1", f"{side}_finger", item.name) for side in ("left", "right")]
    return "".join(
        f'<contact {kind}="{part}" body2="{target}" data="found force" reduce="netforce"/>'
        for kind, part, target in pairs
    )


def _text(numbers: Sequence[float] | Iterable[float]) -> str:
    return " ".join(f"{float(number):.17g}" for number in numbers)
