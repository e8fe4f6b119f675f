"""A camera by ray casting: no OpenGL, the same picture on every machine.

One cast gives colour, depth and segmentation. No shadows, textures or smoothed edges: meant for
trackers, depth and models that read a scene, not for policies trained on photographs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from interlock.robots.geometry import RobotError
from interlock.robots.physics import mujoco
from interlock.robots.picture import Picture, check_size, find_camera, view_of

_SEEN_GROUPS = np.array([1, 1, 1, 0, 0, 0], dtype=np.uint8)
_FARTHEST_M = 20.0
_SKY = (158, 184, 209)
_AMBIENT, _HEADLIGHT, _LAMP = 0.25, 0.30, 0.45
_TO_LAMP = np.array([0.35, 0.25, 0.9], dtype=np.float32)
_TO_LAMP /= np.linalg.norm(_TO_LAMP)


class RayCamera:
    """One camera of one simulated scene.

    Args:
        model: The MuJoCo model.
        camera: Name of the camera.
        width: Width of the picture, in pixels.
        height: Height of the picture, in pixels.

    Raises:
        RobotError: If there is no such camera, or the size is not acceptable.
    """

    def __init__(self, model: Any, camera: str, *, width: int, height: int) -> None:
        check_size(width, height)
        self._model, self._camera = model, find_camera(model, camera)
        self._width, self._height = width, height
        focal = height / 2 / np.tan(np.radians(model.cam_fovy[self._camera]) / 2)
        right = (np.arange(width) + 0.5 - width / 2) / focal
        up = -(np.arange(height) + 0.5 - height / 2) / focal
        x, y = np.meshgrid(right, up)
        rays = np.stack([x, y, np.full_like(x, -1.0)], axis=-1).reshape(-1, 3)
        length = np.linalg.norm(rays, axis=1)
        self._rays, self._along_axis = rays / length[:, None], (1 / length).astype(np.float32)
        n = len(rays)
        self._world_rays = np.zeros((n, 3))
        self._geom, self._distance = np.zeros(n, np.int32), np.zeros(n)
        self._normal = np.zeros((n, 3))
        # The last row is what a ray that hits nothing shows: geom -1.
        self._colors = np.vstack([np.round(_colors(model) * 255), _SKY]).astype(np.float32)
        self._palette = self._colors.astype(np.uint8)

    def render(self, data: Any, *, shaded: bool = True) -> Picture:
        """Return the picture of a state whose body poses are up to date.

        Args:
            data: MuJoCo data of this camera's model.
            shaded: Whether surfaces are darker when they face away from the light; without, a
                pixel has exactly the colour of its geom, and the picture costs less.

        Raises:
            RobotError: If the data belongs to another model.
        """
        if data.geom_xpos.shape[0] != self._model.ngeom:
            raise RobotError("the state belongs to another scene than the camera")
        view = view_of(self._model, data, self._camera, self._width, self._height)
        self._cast(data, shaded=shaded)
        shape = (self._height, self._width)
        hit = self._geom >= 0
        depth = np.where(hit, self._distance, 0.0).astype(np.float32) * self._along_axis
        rgb = self._shade(hit) if shaded else self._palette[self._geom]
        return Picture(
            rgb=rgb.reshape(*shape, 3),
            depth_m=depth.reshape(shape),
            segmentation=self._geom.reshape(shape).copy(),
            view=view,
        )

    def _cast(self, data: Any, *, shaded: bool) -> None:
        rotation = data.cam_xmat[self._camera].reshape(3, 3)
        np.matmul(self._rays, rotation.T, out=self._world_rays)
        mujoco.mj_multiRay(
            self._model,
            data,
            data.cam_xpos[self._camera],
            self._world_rays.reshape(-1),
            _SEEN_GROUPS,
            1,
            -1,
            self._geom,
            self._distance,
            self._normal.reshape(-1) if shaded else None,
            len(self._rays),
            _FARTHEST_M,
        )

    def _shade(self, hit: Any) -> Any:
        normal = self._normal.astype(np.float32)
        facing = np.abs(np.einsum("ij,ij->i", normal, self._world_rays.astype(np.float32)))
        lit = np.maximum(normal @ _TO_LAMP, 0.0)
        light = np.where(hit, _AMBIENT + _HEADLIGHT * facing + _LAMP * lit, np.float32(1.0))
        return (self._colors[self._geom] * light[:, None]).astype(np.uint8)


def _colors(model: Any) -> Any:
    colors = np.array(model.geom_rgba[:, :3])
    for geom in range(model.ngeom):
        material = int(model.geom_matid[geom])
        if material >= 0:
            colors[geom] = model.mat_rgba[material][:3]
    return colors
