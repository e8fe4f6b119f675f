"""Draws the tabletop from physics states, in the film process of a trial."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.messages.settings import build
from interlock.robots.ray_camera import RayCamera
from interlock.robots.scene import build_scene
from interlock.robots.scene_settings import SceneSettings
from interlock.robots.world import SimWorld

if TYPE_CHECKING:
    from numpy.typing import NDArray

CAMERA = "front"


class StagePainter:
    """Sets states on a world of its own and draws it.

    Args:
        setup: Data of the scene file.
        width: Width in pixels.
        height: Height in pixels.
    """

    def __init__(self, setup: dict[str, Any], *, width: int, height: int) -> None:
        settings = build(SceneSettings, setup, where="scene of the trial")
        self._world = SimWorld(build_scene(settings, 0))
        self._camera = RayCamera(self._world.model, CAMERA, width=width, height=height)

    def paint(self, frame: bytes) -> NDArray[np.uint8]:
        """Return the picture of a physics state."""
        self._world.write_state(np.frombuffer(frame, np.float64))
        return self._camera.render(self._world.data).rgb
