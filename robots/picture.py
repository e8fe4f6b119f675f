"""What a camera gives: colour, depth and segmentation of one instant, and how it was looking."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.robots import kinematics
from interlock.robots.geometry import RobotError, Vector
from interlock.robots.physics import mujoco

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGEST_SIDE_PX = 4096
BACKGROUND = -1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class View:
    """A pinhole camera; pixels are square and the axis goes through the middle of the picture.

    Attributes:
        width: Width of the picture, in pixels.
        height: Height of the picture, in pixels.
        fovy_deg: Vertical field of view, in degrees.
        world_from_camera: Pose, shape (7,). The camera looks along its -z, x is right, y is up.
    """

    width: int
    height: int
    fovy_deg: float
    world_from_camera: Vector

    @property
    def focal_px(self) -> float:
        """Focal length, in pixels, the same along both sides."""
        return self.height / 2 / math.tan(math.radians(self.fovy_deg) / 2)

    def project(self, world: Vector) -> Vector:
        """Return u, v in pixels (from the left and top edge) and depth in m of points.

        Args:
            world: Points in the world, shape (n, 3), in m.

        Returns:
            Shape (n, 3). A depth that is not positive lies behind the camera.
        """
        rotation = kinematics.rotation_from_quaternion(self.world_from_camera[3:])
        x, y, z = ((world - self.world_from_camera[:3]) @ rotation).T
        u = self.width / 2 - self.focal_px * x / z
        v = self.height / 2 + self.focal_px * y / z
        return np.stack([u, v, -z], axis=1)

    def unproject(self, pixels: Vector) -> Vector:
        """Return points in the world, shape (n, 3), in m, of u, v, depth, shape (n, 3)."""
        u, v, depth = pixels.T
        x = (u - self.width / 2) / self.focal_px * depth
        y = -(v - self.height / 2) / self.focal_px * depth
        rotation = kinematics.rotation_from_quaternion(self.world_from_camera[3:])
        points: Vector = np.stack([x, y, -depth], axis=1) @ rotation.T
        return points + self.world_from_camera[:3]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Picture:
    """One picture. The arrays are new for each picture.

    Attributes:
        rgb: Colour, shape (height, width, 3), values 0 to 255.
        depth_m: Distance along the camera's axis, shape (height, width), in m; 0 where the
            camera sees nothing.
        segmentation: Geom seen by each pixel, shape (height, width); -1 where there is none.
        view: How the camera was looking.
    """

    rgb: NDArray[np.uint8]
    depth_m: NDArray[np.float32]
    segmentation: NDArray[np.int32]
    view: View


def find_camera(model: Any, name: str) -> int:
    """Return the index of a camera.

    Raises:
        RobotError: If the scene has none of that name.
    """
    known = [str(model.camera(i).name) for i in range(model.ncam)]
    if name not in known:
        raise RobotError(f"no camera {name!r} in this scene; known: {', '.join(known)}")
    return known.index(name)


def view_of(model: Any, data: Any, camera: int, width: int, height: int) -> View:
    """Return how a camera looks now; brings its pose up to date with the bodies' poses."""
    mujoco.mj_camlight(model, data)
    quaternion = kinematics.quaternion_from_rotation(data.cam_xmat[camera].tolist())
    return View(
        width=width,
        height=height,
        fovy_deg=float(model.cam_fovy[camera]),
        world_from_camera=np.array([*data.cam_xpos[camera], *quaternion]),
    )


def check_size(width: int, height: int) -> None:
    """Refuse a picture without pixels or of unreasonable size.

    Raises:
        RobotError: Naming the size and the limit.
    """
    if not (1 <= width <= LARGEST_SIDE_PX and 1 <= height <= LARGEST_SIDE_PX):
        raise RobotError(f"a picture of {width}x{height} is outside 1 to {LARGEST_SIDE_PX} a side")


def geom_names(model: Any) -> tuple[str, ...]:
    """Return the name of each geom of a segmentation; an object's geom has the object's name."""
    return tuple(str(model.geom(geom).name) for geom in range(model.ngeom))
