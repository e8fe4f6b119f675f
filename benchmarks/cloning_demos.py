"""Demonstrations of pick-and-place in simulation: pictures, state and what was commanded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interlock.robots import kinematics, panda
from interlock.robots.ray_camera import RayCamera
from interlock.robots.scene import build_scene
from interlock.robots.scene_settings import shipped_scene
from interlock.robots.world import SimWorld

if TYPE_CHECKING:
    from collections.abc import Iterator

Array = NDArray[np.float64]

SIZE = 64
PERIOD_S = 0.05
HORIZON = 10
_DOWN = panda.HOME
_SPEED_MPS = 0.22
_OPEN_M = 0.08
_GRASP_Z, _CARRY_Z, _PLACE_Z = 0.055, 0.30, 0.085


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Demo:
    """One demonstration at 20 Hz.

    Attributes:
        front: Pictures of the front camera, shape (n, 64, 64, 3).
        side: Pictures of the side camera, shape (n, 64, 64, 3).
        state: Joints in rad, share of open, tool position in m; shape (n, 11).
        command: Joints in rad and share of open, for each step; shape (n, 8).
    """

    front: NDArray[np.uint8]
    side: NDArray[np.uint8]
    state: NDArray[np.float32]
    command: NDArray[np.float32]


class Stage:
    """A simulated table with cameras; makes demonstrations of one layout after another."""

    def __init__(self) -> None:
        self._settings = shipped_scene("tabletop")
        self._world = SimWorld(build_scene(self._settings, 0))
        self._front = RayCamera(self._world.model, "front", width=SIZE, height=SIZE)
        self._side = RayCamera(self._world.model, "side", width=SIZE, height=SIZE)

    def demonstrate(self, seed: int) -> Demo:
        """Put the red cup on the tray, with detours to recover from."""
        world, rng = self._world, np.random.default_rng(seed)
        world.reset(seed)
        frames: list[tuple[NDArray[Any], ...]] = []
        position = world.position
        for pose, width_m in self._path(rng):
            target = kinematics.inverse(pose, position)
            if target is None:
                continue
            command = np.append(target, width_m / _OPEN_M)
            frames.append((*self._see(), self._state(), command))
            world.set_gripper(width_m)
            steps = round(PERIOD_S / world.timestep_s)
            shares = np.arange(1, steps + 1)[:, None] / steps
            speed = np.tile((target - position) / PERIOD_S, (steps, 1))
            world.follow(position + shares * (target - position), speed)
            position = target
        front, side, state, command = (np.stack(column) for column in zip(*frames, strict=True))
        return Demo(
            front=front.astype(np.uint8),
            side=side.astype(np.uint8),
            state=state.astype(np.float32),
            command=command.astype(np.float32),
        )

    def _see(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        data = self._world.data
        return self._front.render(data).rgb, self._side.render(data).rgb

    def _state(self) -> Array:
        world = self._world
        share = world.gripper_width_m / _OPEN_M
        return np.concatenate([world.position, [share], world.tool_pose[:3]])

    def _path(self, rng: np.random.Generator) -> Iterator[tuple[Array, float]]:
        """Yield tool poses and finger widths, 20 a second."""
        cup = self._world.object_pose("cup_red")[:2]
        tray = np.array(self._settings.tray.center_m if self._settings.tray else (0.3, 0.38))
        here = self._world.tool_pose
        detour = cup + rng.normal(0.0, 0.05, 2)
        slip = cup + rng.normal(0.0, 0.015, 2)
        points = [
            ((*detour, rng.uniform(0.18, 0.32)), _OPEN_M, 0),
            ((*slip, rng.uniform(0.14, 0.18)), _OPEN_M, 0),
            ((*cup, rng.uniform(0.11, 0.13)), _OPEN_M, 0),
            ((*cup, _GRASP_Z), _OPEN_M, 3),
            ((*cup, _GRASP_Z), 0.0, 14),
            ((*cup, _CARRY_Z), 0.0, 0),
            ((*(tray + rng.normal(0.0, 0.02, 2)), _CARRY_Z), 0.0, 0),
            ((*tray, _PLACE_Z), 0.0, 3),
            ((*tray, _PLACE_Z), _OPEN_M, 10),
            ((*tray, _CARRY_Z), _OPEN_M, 8),
        ]
        for point, width_m, rest in points:
            goal = np.concatenate([point, here[3:]])
            yield from ((pose, width_m) for pose in _line(here, goal))
            yield from ((goal, width_m) for _ in range(rest))
            here = goal


def _line(start: Array, goal: Array) -> Iterator[Array]:
    """Yield poses on a straight line, gently at both ends; the last is the goal."""
    length = float(np.linalg.norm(goal[:3] - start[:3]))
    n = max(1, int(np.ceil(1.5 * length / _SPEED_MPS / PERIOD_S)))
    for k in range(1, n + 1):
        s = k / n
        yield start + (goal - start) * (s * s * (3.0 - 2.0 * s))
