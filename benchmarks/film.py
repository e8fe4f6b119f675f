"""Run a program in lockstep and film it with the ray camera: no display and no OpenGL needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PIL import Image

from interlock.benchmarks.arena import STEP_NS, Disturbance, Outcome, play
from interlock.robots.ray_camera import RayCamera

if TYPE_CHECKING:
    from pathlib import Path

WIDTH, HEIGHT = 320, 240
#: One picture per this many steps of the arena (80 ms).
EVERY = 8


class _Film:
    def __init__(self) -> None:
        self.pictures: list[Image.Image] = []
        self._camera: RayCamera | None = None

    def __call__(self, step: int, world: Any) -> None:
        if step % EVERY:
            return
        if self._camera is None:
            self._camera = RayCamera(world.model, "front", width=WIDTH, height=HEIGHT)
        self.pictures.append(Image.fromarray(self._camera.render(world.data).rgb.copy()))


def film(program: str, disturbances: tuple[Disturbance, ...], path: Path) -> Outcome:
    """Run a program, write its film as a GIF, and return what came of it."""
    shots = _Film()
    outcome = play(program, disturbances, watch=shots)
    path.parent.mkdir(parents=True, exist_ok=True)
    duration_ms = EVERY * STEP_NS // 1_000_000
    shots.pictures[0].save(
        path, save_all=True, append_images=shots.pictures[1:], duration=duration_ms, loop=0
    )
    return outcome
