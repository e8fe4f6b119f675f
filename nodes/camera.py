"""Camera node: pictures of the simulated world, drawn in a process of its own.

It sets the received physics state on its own copy of the model and draws, so that drawing never
slows control.

Inputs:   state (RobotState with physics), tick (the frame rate).
Outputs:  image (rgb8), depth (32FC1, m), segmentation (32SC1), event (Event).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from interlock.messages import Event, Image, Output, RobotState
from interlock.nodes._node import Context, Node
from interlock.nodes._scene import scene
from interlock.robots.gl_camera import GlCamera
from interlock.robots.ray_camera import RayCamera
from interlock.robots.world import SimWorld

if TYPE_CHECKING:
    from collections.abc import Iterable

    from interlock.messages import Basis, Received
    from interlock.robots.picture import Picture


class CameraNode(Node):
    """Draws the newest state at every tick; a state that was drawn is not drawn again."""

    @dataclass(frozen=True, kw_only=True)
    class Settings:
        """What the dataflow may set.

        Attributes:
            scene: Scene that the simulator runs.
            camera: Name of the camera in the scene.
            width: Width of the picture, in pixels.
            height: Height of the picture, in pixels.
            renderer: ``ray`` (built in, same picture everywhere) or ``gl`` (OpenGL).
            shadow_px: Side of the OpenGL shadow map, in pixels; 0 draws no shadows.
        """

        scene: str = "tabletop"
        camera: str = "front"
        width: int = 224
        height: int = 224
        renderer: Literal["ray", "gl"] = "ray"
        shadow_px: int = 0

    inputs: ClassVar = {"state": RobotState}
    nice: ClassVar = 5
    outputs: ClassVar = {"image": Image, "depth": Image, "segmentation": Image, "event": Event}
    slow: ClassVar = True

    def __init__(self, settings: Settings, context: Context) -> None:
        super().__init__(settings, context)
        self._world = SimWorld(scene(settings.scene, context))
        self._camera: RayCamera | GlCamera | None = None
        self._physics = np.zeros(self._world.state_size)
        self._basis: Basis | None = None

    def on_start(self, now_ns: int) -> Iterable[Output]:
        """Open the renderer in the thread that will use it."""
        s = self.settings
        size = {"width": s.width, "height": s.height}
        if s.renderer == "gl":
            self._camera = GlCamera(self._world.model, s.camera, shadow_px=s.shadow_px, **size)
            how = f"OpenGL ({self._camera.backend.name})"
        else:
            self._camera = RayCamera(self._world.model, s.camera, **size)
            how = "ray casting"
        text = f"camera {s.camera}, {s.width}x{s.height}, {how}"
        yield Output(output="event", message=Event(kind="camera", text=text))

    def on_state(self, received: Received[RobotState], now_ns: int) -> Iterable[Output]:
        """Keep the newest state."""
        physics = received.message.physics
        if physics.size and physics.shape != self._physics.shape:
            self.failed = (
                f"the state has {physics.size} numbers, scene {self.settings.scene!r} has "
                f"{self._physics.size}: give camera and simulator the same SCENE"
            )
        elif physics.size:
            # Only what is drawn is kept, as a copy: the received buffer is given back.
            self._physics[:] = physics
            self._basis = received.basis
        return ()

    def on_tick(self, now_ns: int) -> Iterable[Output]:
        """Draw the newest state, if there is a new one."""
        basis, self._basis = self._basis, None
        if basis is None or self._camera is None:
            return
        self._world.write_state(self._physics)
        yield from _outputs(self._camera.render(self._world.data), self.settings.camera, basis)

    def on_stop(self, now_ns: int) -> Iterable[Output]:
        """Give the OpenGL context back."""
        if isinstance(self._camera, GlCamera):
            self._camera.close()
        return ()


def _outputs(picture: Picture, camera: str, basis: Basis) -> Iterable[Output]:
    frames: dict[str, tuple[Any, str]] = {
        "image": (picture.rgb, "rgb8"),
        "depth": (picture.depth_m, "32FC1"),
        "segmentation": (picture.segmentation, "32SC1"),
    }
    for output, (pixels, encoding) in frames.items():
        message = Image(
            pixels=pixels,
            encoding=encoding,
            camera=camera,
            fovy_deg=picture.view.fovy_deg,
            world_from_camera=picture.view.world_from_camera,
        )
        yield Output(output=output, message=message, basis=(basis,))


NODE = CameraNode


def main() -> None:
    """Run under dora."""
    from interlock.nodes._dora import run

    run(NODE)


if __name__ == "__main__":
    main()
