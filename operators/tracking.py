"""Find coloured objects of known shape in a colour and a depth picture of one camera.

Pixels are told apart by the direction of their colour, which shading does not change. Their depth
gives points in the world, to which the axis of an upright object of known size is fitted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from interlock.messages import Image

    Floats = NDArray[np.float64]

#: Cosine between the colour of a pixel and that of an object above which they are the same.
COLOR_COSINE = 0.985
#: Darker than this (sum of three channels of 0 to 255) has no colour.
MIN_BRIGHTNESS = 40
#: Fewer pixels than this are noise.
MIN_PIXELS = 12
#: Points this close to the highest one belong to the top face, in m.
TOP_BAND_M = 0.004
#: An object that looks shorter than it is by this is partly hidden, in m.
SHORTENED_M = 0.002
#: With a smaller share of its points in the band of the highest, no top face is in sight.
TOP_SHARE = 0.12


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """An upright object that a tracker looks for.

    Attributes:
        name: Name of the object.
        rgb: Colour, each from 0 to 1.
        radius_m: Radius of its footprint (of the circle within it, for a box), in m.
        half_height_m: Half of its height, in m.
        round: True for a cylinder or sphere, False for a box.
    """

    name: str
    rgb: tuple[float, float, float]
    radius_m: float
    half_height_m: float
    round: bool = True


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sighting:
    """An object found in a picture.

    Attributes:
        name: Name of the object.
        world_from_object: Pose, shape (7,): m, quaternion w, x, y, z; upright.
        confidence: 0 to 1: the share of the expected pixels that was seen.
    """

    name: str
    world_from_object: Floats
    confidence: float


def find(color: Image, depth: Image, targets: Sequence[Target]) -> list[Sighting]:
    """Return the targets that are seen, in the order of ``targets``.

    Args:
        color: Picture in rgb8, with the pose and field of view of its camera.
        depth: Distance along the optical axis in m (32FC1), same camera, same size; 0 is nothing.
        targets: What to look for.
    """
    rgb = color.pixels.astype(np.float32)
    brightness = rgb.sum(axis=2)
    norms = np.linalg.norm(rgb, axis=2) + 1e-6
    seen = (brightness > MIN_BRIGHTNESS) & (depth.pixels > 0)
    found = []
    for target in targets:
        wanted = np.array(target.rgb, np.float32)
        cosine = rgb @ (wanted / np.linalg.norm(wanted)) / norms
        rows, columns = np.nonzero(seen & (cosine > COLOR_COSINE))
        if len(rows) < MIN_PIXELS:
            continue
        points = world_points(depth, rows, columns)
        center = _center(points, depth.world_from_camera[:3], target)
        expected = _expected_pixels(depth, center, target)
        confidence = float(np.clip(len(rows) / max(expected, 1.0), 0.0, 1.0))
        pose = np.array([*center, 1.0, 0.0, 0.0, 0.0])
        found.append(Sighting(name=target.name, world_from_object=pose, confidence=confidence))
    return found


def world_points(depth: Image, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Floats:
    """Return the points in the world behind some pixels of a depth picture, shape (n, 3), in m."""
    height, width = depth.pixels.shape
    focal = 0.5 * height / np.tan(np.radians(depth.fovy_deg) / 2)
    z = depth.pixels[rows, columns].astype(np.float64)
    x = (columns + 0.5 - width / 2) / focal * z
    y = -(rows + 0.5 - height / 2) / focal * z
    in_camera = np.stack([x, y, -z], axis=1)
    pose = depth.world_from_camera
    points: Floats = in_camera @ rotation(pose[3:]).T + pose[:3]
    return points


def rotation(quaternion: Floats) -> Floats:
    """Return the rotation matrix, shape (3, 3), of a unit quaternion w, x, y, z."""
    w, x, y, z = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _center(points: Floats, camera: Floats, target: Target) -> Floats:
    """Return the centre of the object that the points lie on, shape (3,), in m."""
    # The highest points may be single stray ones at an edge of the mask.
    top = float(np.percentile(points[:, 2], 98))
    on_top = points[:, 2] > top - TOP_BAND_M
    sides = points[~on_top, :2]
    start = np.median(points[:, :2], axis=0)
    away = start - camera[:2]
    away /= max(float(np.linalg.norm(away)), 1e-9)
    if len(sides) >= MIN_PIXELS:
        start = np.median(sides, axis=0) + away * target.radius_m * 0.7
        xy = _fit_circle(sides, start, target.radius_m) if target.round else start
    else:
        face = points[on_top, :2]
        xy = (face.min(axis=0) + face.max(axis=0)) / 2
    return np.array([xy[0], xy[1], _height(points[:, 2], top, on_top, target)])


def _height(z: Floats, top: float, on_top: NDArray[np.bool_], target: Target) -> float:
    """Return the height of the centre, in m, from the end of the object that is in sight.

    A hand around the object hides its top, and what is seen highest is then not its top.
    """
    bottom = float(np.percentile(z, 0.5))
    shortened = top - bottom < 2 * target.half_height_m - SHORTENED_M
    if shortened and on_top.mean() < TOP_SHARE:
        return bottom + target.half_height_m
    return top - target.half_height_m


def _fit_circle(points: Floats, start: Floats, radius_m: float) -> Floats:
    """Return the centre of a circle of known radius through points, by Gauss-Newton."""
    center = start.copy()
    for _ in range(10):
        offset = points - center
        distance = np.linalg.norm(offset, axis=1) + 1e-12
        residual = distance - radius_m
        # Points far off the circle (the mask touched something else) must not pull it.
        weight = 1.0 / (1.0 + (residual / 0.004) ** 2)
        jacobian = -offset / distance[:, None]
        weighted = jacobian * weight[:, None]
        step = np.linalg.solve(jacobian.T @ weighted + 1e-9 * np.eye(2), weighted.T @ residual)
        center = center - step
        if np.abs(step).max() < 1e-6:
            break
    return center


def _expected_pixels(depth: Image, center: Floats, target: Target) -> float:
    """Return about how many pixels an unoccluded object covers: its side and its top."""
    height = depth.pixels.shape[0]
    focal = 0.5 * height / np.tan(np.radians(depth.fovy_deg) / 2)
    sight = center - depth.world_from_camera[:3]
    distance = float(np.linalg.norm(sight))
    down = abs(float(sight[2])) / distance
    side_m2 = 4 * target.radius_m * target.half_height_m * np.sqrt(1 - down**2)
    top_m2 = (np.pi if target.round else 4.0) * target.radius_m**2 * down
    # Half a pixel is lost all round to the edges.
    return float(0.8 * (side_m2 + top_m2) * (focal / distance) ** 2)
