"""Demonstrations of pick-and-place in simulation: pictures, state and what an expert would do.

The expert looks only at where things are now, so it can say what is right from anywhere; it is
pushed about while it works, and what it says is always the way back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interlock.robots import kinematics
from interlock.robots.ray_camera import RayCamera
from interlock.robots.scene import build_scene
from interlock.robots.scene_settings import shipped_scene
from interlock.robots.world import SimWorld

Array = NDArray[np.float64]

SIZE = 64
PERIOD_S = 0.05
HORIZON = 10
STEPS = 240
OPEN_M = 0.08
_SPEED_MPS = 0.28
_FINGERS_MPS = 0.15
_GRASP_Z, _CARRY_Z, _PLACE_Z = 0.055, 0.26, 0.068
#: The cup is 60 mm wide: fingers this near each other hold it.
_HELD_M = 0.0635


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Demo:
    """One demonstration at 20 Hz.

    Attributes:
        front: Pictures of the front camera, shape (n, 64, 64, 3).
        side: Pictures of the side camera, shape (n, 64, 64, 3).
        state: Share of open and tool position in m, shape (n, 4).
        chunks: What the expert would do next, shape (n, 10, 4): position from here in m, and
            share of open.
    """

    front: NDArray[np.uint8]
    side: NDArray[np.uint8]
    state: NDArray[np.float32]
    chunks: NDArray[np.float32]


def expert(tool: Array, width_m: float, cup: Array, tray: Array) -> tuple[Array, float]:
    """Return where the tool should go next and how wide the fingers should be.

    Args:
        tool: Position of the tool, shape (3,), in m.
        width_m: Distance between the fingers, in m.
        cup: Position of the cup, shape (3,), in m.
        tray: Middle of the tray, shape (2,), in m.
    """
    off = float(np.linalg.norm(tool[:2] - cup[:2]))
    placed = np.linalg.norm(cup[:2] - tray) < 0.05 and cup[2] < 0.066
    held = width_m < _HELD_M and off < 0.03 and abs(tool[2] - cup[2]) < 0.04
    if placed:
        goal = tool if width_m < 0.95 * OPEN_M else np.array([*tray, _CARRY_Z])
        return _toward(tool, goal), OPEN_M
    if held:
        away = float(np.linalg.norm(tool[:2] - tray))
        if away > 0.02 and tool[2] < _CARRY_Z - 0.05:
            goal = np.array([*tool[:2], _CARRY_Z])
        elif away > 0.02:
            goal = np.array([*tray, _CARRY_Z])
        else:
            goal = np.array([*tray, _PLACE_Z - 0.01])
        return _toward(tool, goal), 0.0
    # Come down only as far as the fingers are over the cup.
    height = _GRASP_Z + float(np.clip(6.0 * (off - 0.006), 0.0, 0.14))
    at_cup = off < 0.010 and tool[2] < _GRASP_Z + 0.010
    return _toward(tool, np.array([*cup[:2], height])), 0.0 if at_cup else OPEN_M


def plan(tool: Array, width_m: float, cup: Array, tray: Array) -> Array:
    """Return what the expert would do over a chunk, shape (10, 4), as it expects things to go."""
    rows, here = [], tool.copy()
    for _ in range(HORIZON):
        goal, wanted_m = expert(here, width_m, cup, tray)
        held = width_m < _HELD_M and np.linalg.norm(here - cup) < 0.045 and wanted_m == 0.0
        cup = cup + (goal - here) if held else cup
        here = goal
        change = _FINGERS_MPS * PERIOD_S
        width_m += float(np.clip(wanted_m - width_m, -change, change))
        grasping = wanted_m == 0.0 and np.linalg.norm(here - cup) < 0.045
        width_m = max(width_m, 0.06) if grasping else width_m
        rows.append([*(here - tool), wanted_m / OPEN_M])
    return np.array(rows)


class Stage:
    """A simulated table with cameras; makes demonstrations of one layout after another."""

    def __init__(self) -> None:
        self._settings = shipped_scene("tabletop")
        self._world = SimWorld(build_scene(self._settings, 0))
        self._front = RayCamera(self._world.model, "front", width=SIZE, height=SIZE)
        self._side = RayCamera(self._world.model, "side", width=SIZE, height=SIZE)

    def demonstrate(self, seed: int) -> Demo:
        """Put the red cup on the tray, pushed about on the way."""
        world, rng = self._world, np.random.default_rng(seed)
        world.reset(seed)
        tray = np.array(self._settings.tray.center_m if self._settings.tray else (0.3, 0.38))
        attitude, push = world.tool_pose[3:], np.zeros(3)
        strength = rng.uniform(0.0, 0.002)
        frames: list[tuple[NDArray[Any], ...]] = []
        position = world.position
        for _ in range(STEPS):
            tool, width_m = world.tool_pose[:3], world.gripper_width_m
            cup = world.object_pose("cup_red")[:3]
            chunk = plan(tool, width_m, cup, tray)
            state = np.array([width_m / OPEN_M, *tool])
            frames.append((*self._see(), state, chunk))
            push = 0.9 * push + strength * rng.normal(size=3)
            near = tool[2] < 0.09
            goal = tool + chunk[0, :3] + (0.2 if near else 1.0) * push
            goal[2] = max(goal[2], 0.05)
            position = self._go(np.concatenate([goal, attitude]), chunk[0, 3] * OPEN_M, position)
        front, side, states, chunks = (np.stack(c) for c in zip(*frames, strict=True))
        return Demo(
            front=front.astype(np.uint8),
            side=side.astype(np.uint8),
            state=states.astype(np.float32),
            chunks=chunks.astype(np.float32),
        )

    def _go(self, pose: Array, width_m: float, position: Array) -> Array:
        """Command one step; return the joints commanded."""
        world = self._world
        target = kinematics.inverse(pose, position)
        target = position if target is None else target
        world.set_gripper(width_m)
        steps = round(PERIOD_S / world.timestep_s)
        shares = np.arange(1, steps + 1)[:, None] / steps
        speed = np.tile((target - position) / PERIOD_S, (steps, 1))
        world.follow(position + shares * (target - position), speed)
        return target

    def _see(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        data = self._world.data
        return self._front.render(data).rgb, self._side.render(data).rgb


def _toward(here: Array, goal: Array) -> Array:
    """Return a step toward a goal: at most the speed, slower when near."""
    way = goal - here
    length = float(np.linalg.norm(way))
    step = min(_SPEED_MPS, 4.0 * length) * PERIOD_S
    return here + way * min(1.0, step / max(length, 1e-9))
