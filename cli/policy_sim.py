"""A simulated Panda for `interlock policy check`: one snapshot, and an arm to probe with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interlock.policies.vla.robot import Snapshot
from interlock.robots import kinematics
from interlock.robots.ray_camera import RayCamera
from interlock.robots.scene import build_scene
from interlock.robots.scene_settings import shipped_scene
from interlock.robots.world import SimWorld

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlock.robots.scene_settings import SceneSettings

_SETTLE_S = 0.8


class SimulatedPanda:
    """A Panda standing in a scene, at rest, with pictures from every camera.

    Args:
        scene: Name of a scene that ships with Interlock.
        seed: Seed of the layout.
        prompt: The instruction.
    """

    def __init__(self, scene: str, *, seed: int, prompt: str) -> None:
        settings = shipped_scene(scene)
        self._world = SimWorld(build_scene(settings, seed))
        self._world.reset(seed)
        self._prompt = prompt
        self._cameras = _cameras(settings)
        self._position = self._world.position
        self._width_m = self._world.gripper_width_m

    def snapshot(self, *, width: int = 320, height: int = 240, pictures: bool = True) -> Snapshot:
        """Return what it is like now."""
        world, images = self._world, {}
        if pictures:
            for name in self._cameras:
                camera = RayCamera(world.model, name, width=width, height=height)
                images[name] = camera.render(world.data).rgb
        pose = world.tool_pose
        return Snapshot(
            id=0,
            observed_ns=0,
            state={
                "joint_position": world.position,
                "joint_velocity": world.velocity,
                "commanded_joint_position": self._position,
                "hand_position": pose[:3],
                "hand_orientation": pose[3:],
                "gripper_width": np.array([world.gripper_width_m]),
            },
            images=images,
            prompt=self._prompt,
        )

    def go(self, target: NDArray[np.float64], space: str) -> Snapshot | None:
        """Go to one decoded row and come to rest; None if it can't be reached."""
        size = 7
        position: NDArray[np.float64] | None = target[:size]
        if space == "pose":
            position = kinematics.inverse(target[:size], self._world.position)
        if position is None:
            return None
        if len(target) > size:
            self._width_m = float(target[size])
        self._world.set_gripper(self._width_m)
        steps = round(_SETTLE_S / self._world.timestep_s)
        start, half = self._position, steps // 2
        shares = np.minimum(1.0, np.arange(1, steps + 1) / half)[:, None]
        self._world.follow(start + shares * (position - start), np.zeros((steps, size)))
        self._position = position
        return self.snapshot(pictures=False)


def _cameras(settings: SceneSettings) -> tuple[str, ...]:
    return (*settings.cameras, "wrist")
