"""A camera by OpenGL, for pictures nearer to what policies were trained on."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from interlock.robots.gl_probe import GlBackend, GlError, choose_backend
from interlock.robots.physics import mujoco
from interlock.robots.picture import Picture, check_size, find_camera, view_of

if TYPE_CHECKING:
    from types import TracebackType

_GEOM = int(mujoco.mjtObj.mjOBJ_GEOM)


class GlCamera:
    """One camera of one simulated scene. Use it in a ``with`` block, in one thread.

    Args:
        model: The MuJoCo model.
        camera: Name of the camera.
        width: Width of the picture, in pixels.
        height: Height of the picture, in pixels.
        shadow_px: Side of the shadow map; 0 draws none. The map is most of the cost: 512 is
            enough to look at.
        backend: Back end to use; None probes for one.

    Raises:
        GlError: If there is no usable OpenGL.
        RobotError: If there is no such camera, or the size is not acceptable.
    """

    def __init__(
        self,
        model: Any,
        camera: str,
        *,
        width: int,
        height: int,
        shadow_px: int = 0,
        backend: GlBackend | None = None,
    ) -> None:
        check_size(width, height)
        self._model, self._camera = model, find_camera(model, camera)
        self._width, self._height = width, height
        self.backend = backend or choose_backend()
        model.vis.quality.shadowsize = shadow_px
        model.vis.global_.offwidth = max(width, int(model.vis.global_.offwidth))
        model.vis.global_.offheight = max(height, int(model.vis.global_.offheight))
        _use(self.backend)
        try:
            self._renderer: Any = mujoco.Renderer(model, height, width)
        except (RuntimeError, AttributeError, ImportError, mujoco.FatalError) as error:
            raise GlError(f"{self.backend.name} drew in the probe but not here: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the OpenGL context back."""
        self._renderer.close()

    def render(self, data: Any, *, with_depth: bool = True) -> Picture:
        """Return the picture of a state whose body poses are up to date.

        Args:
            data: MuJoCo data of this camera's model.
            with_depth: Whether depth and segmentation are drawn too (two more passes); else
                they are 0 and -1 everywhere.
        """
        view = view_of(self._model, data, self._camera, self._width, self._height)
        renderer, shape = self._renderer, (self._height, self._width)
        renderer.update_scene(data, camera=self._camera)
        rgb = np.array(renderer.render(), dtype=np.uint8)
        depth, segmentation = np.zeros(shape, np.float32), np.full(shape, -1, np.int32)
        if with_depth:
            renderer.enable_depth_rendering()
            depth = np.array(renderer.render(), dtype=np.float32)
            renderer.enable_segmentation_rendering()
            ids = renderer.render()
            segmentation = np.where(ids[..., 1] == _GEOM, ids[..., 0], -1).astype(np.int32)
            renderer.disable_segmentation_rendering()
            depth[segmentation < 0] = 0.0
        return Picture(rgb=rgb, depth_m=depth, segmentation=segmentation, view=view)


def _use(backend: GlBackend) -> None:
    """Make MuJoCo's renderer create its contexts with a back end that was probed."""
    # MuJoCo fixes its choice from MUJOCO_GL when it is imported, before anything was probed.
    context = importlib.import_module("mujoco.rendering.classic.gl_context")
    context.GLContext = importlib.import_module(f"mujoco.{backend.name}").GLContext  # type: ignore[attr-defined]
