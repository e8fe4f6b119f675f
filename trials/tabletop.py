"""The tabletop world of trials: the default graph in one process on simulated time.

Every motion goes through the Gate, as it does under dora. A control step is 20 ms.
"""

from __future__ import annotations

import importlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.messages import InterlockError
from interlock.policies.errors import GateRefusedError
from interlock.trials.backend import Camera, Motion, WorldInfo
from interlock.trials.errors import RefusedError
from interlock.trials.png import encode_rgb
from interlock.trials.scenario import Body, Scenario, Scene, Vector
from interlock.trials.tabletop_scene import (
    CAMERAS,
    REACH_HIGH_M,
    REACH_LOW_M,
    check_reach,
    raised_bodies,
    scene_data,
)
from interlock.trials.tabletop_skills import SKILLS, Fingers, GoTo, Jog, make_work

if TYPE_CHECKING:
    from interlock.policies.task import Task

PERIOD_NS = 20_000_000
STEP_M = 0.02
OPEN_M = 0.08
CANCEL_STEPS = 100
INFO = WorldInfo(
    world="tabletop",
    action=("dx", "dy", "dz", "grip"),
    low=(-STEP_M, -STEP_M, -STEP_M, 0.0),
    high=(STEP_M, STEP_M, STEP_M, 1.0),
    units="dx, dy, dz push the tool's goal along, in m per control step; grip 0 closed, 1 open",
    period_s=PERIOD_NS / 1e9,
    cameras=tuple(Camera(name=name, width=224, height=224) for name in (*CAMERAS, "wrist")),
    skills=SKILLS,
    reach_low_m=REACH_LOW_M,
    reach_high_m=REACH_HIGH_M,
)


class Tabletop:
    """A Panda at a table, behind its Gate."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="interlock-tabletop-")
        self._scenario = Scenario(objects={})
        self.stage: Any = None
        self._jog: tuple[Jog, Task[Any]] | None = None

    def info(self) -> WorldInfo:
        """Return what may be known before acting."""
        return INFO

    @property
    def movable(self) -> tuple[str, ...]:
        """Names of what a policy may touch."""
        return tuple(name for name, thing in self._scenario.objects.items() if thing.movable)

    def reset(self, scenario: Scenario, *, seed: int) -> None:
        """Build the scene, start every node, and let a moment pass."""
        # The composition root is above this room: it is found by its name.
        stage = importlib.import_module("interlock.nodes._stage").Stage
        self._scenario, self._jog = scenario, None
        places = {
            name: (zone.centre_m, (zone.size_m[0] / 2, zone.size_m[1] / 2))
            for name, zone in scenario.zones.items()
        }
        self.close()
        folder = Path(self._folder.name)
        scene = scene_data(scenario)
        self.stage = stage(scene, places, folder=folder, gate="default", seed=seed)
        for name in raised_bodies(scenario):
            self.stage.put(name, scenario.objects[name].position_m)
            self.stage.advance(5 * PERIOD_NS)

    def close(self) -> None:
        """Stop every node."""
        if self.stage is not None:
            self.stage.close()
        self.stage = None

    def conclude(self) -> None:
        """Do nothing: the scene shows everything."""

    def scene(self) -> Scene:
        """Return what is physically true now."""
        world, bodies = self.stage.world, {}
        tool = world.tool_pose[:3]
        for name, thing in self._scenario.objects.items():
            position = world.object_pose(name)[:3]
            held, start = self._is_held(position, tool), thing.position_m
            bodies[name] = Body(
                position_m=_vector(position), size_m=thing.size_m, held=held, start_m=start
            )
        return Scene(
            bodies=bodies,
            zones=self._scenario.zones,
            hand_m=_vector(tool),
            grip_open=min(1.0, max(0.0, world.gripper_width_m / OPEN_M)),
        )

    def state(self, *, private: bool) -> dict[str, Any]:
        """Return hand, gripper and joints; with ``private``, every body too."""
        scene, world = self.scene(), self.stage.world
        state: dict[str, Any] = {
            "hand_m": [round(value, 4) for value in scene.hand_m],
            "grip_open": round(scene.grip_open, 3),
            "grip_force_n": round(world.gripper_force_n, 2),
            "joints_rad": [round(float(value), 4) for value in world.position],
        }
        if private:
            state["holding"] = next((n for n, b in scene.bodies.items() if b.held), None)
            state["objects"] = {
                name: [round(value, 4) for value in body.position_m]
                for name, body in scene.bodies.items()
            }
            state["zones"] = {name: list(zone.centre_m) for name, zone in scene.zones.items()}
        return state

    def picture(self, camera: str, *, width: int, height: int) -> bytes:
        """Return a PNG by ray casting: the same on every machine."""
        rgb = self.stage.render(camera, width=width, height=height)
        filtered = np.zeros((height, 1 + 3 * width), np.uint8)
        filtered[:, 1:] = rgb.reshape(height, -1)
        return encode_rgb(filtered.tobytes(), width=width, height=height)

    def film_setup(self) -> tuple[str, Any]:
        """Return what draws this world."""
        return "interlock.nodes._film:StagePainter", scene_data(self._scenario)

    def film_frame(self) -> bytes:
        """Return the physics state of now."""
        return bytes(self.stage.physics())

    def place(self, name: str, position_m: Vector) -> None:
        """Put a body somewhere, upright: a disturbance."""
        self.stage.put(name, position_m)

    def act(self, action: list[float]) -> Motion:
        """Push the tool's goal along and follow it for one control step."""
        if self._jog is None or self._jog[1].done():
            goal = [float(value) for value in self.stage.world.tool_pose[:3]]
            width = self.stage.told_width_m
            jog = Jog(goal_m=goal, width_m=width, told_m=width, touching=self.movable)
            task = self.stage.runtime.start(jog, name="jog")
            # The runtime runs a copy, so that one skill object can be started twice.
            self._jog = (task.skill, task)
        jog, task = self._jog
        goal = [a + b for a, b in zip(jog.goal_m, action[:3], strict=True)]
        check_reach(goal)
        jog.goal_m, jog.width_m = goal, action[3] * OPEN_M
        while True:
            self.stage.advance(PERIOD_NS)
            yield
            self._raise_if_failed(task)
            if task.done() or abs(jog.width_m - jog.told_m) < 1e-6:
                return {"goal_m": [round(value, 4) for value in goal]}

    def move_to(
        self, position_m: list[float], *, grip: float | None, tolerance_m: float, max_steps: int
    ) -> Motion:
        """Move the tool, pointing down, to a position."""
        check_reach(position_m)
        steps = 0
        if grip is not None:
            steps = yield from self._do(Fingers(width_m=grip * OPEN_M), "fingers", max_steps)
        target = (position_m[0], position_m[1], position_m[2])
        yield from self._do(
            GoTo(target, touching=self.movable), "move-to", max(1, max_steps - steps)
        )
        left = float(np.linalg.norm(self.stage.world.tool_pose[:3] - np.array(position_m)))
        return {"reached": left <= tolerance_m, "distance_m": round(left, 4)}

    def grip(self, opening: float, *, steps: int) -> Motion:
        """Move the fingers, then wait until the steps are over."""
        used = yield from self._do(Fingers(width_m=opening * OPEN_M), "fingers", 100)
        yield from self.wait(max(0, steps - used))
        return {"width_m": round(float(self.stage.world.gripper_width_m), 4)}

    def wait(self, steps: int) -> Motion:
        """Let time pass."""
        for _ in range(steps):
            self.stage.advance(PERIOD_NS)
            yield
        return {}

    def skill(self, name: str, arguments: list[str]) -> Motion:
        """Run a named skill to its end."""
        work = make_work(name, arguments, known=self._scenario.names())
        yield from self._do(work, " ".join([name, *arguments]), 10**6)
        return {}

    def halt(self, reason: str) -> dict[str, Any]:
        """Stop at the Gate and let the arm come to rest."""
        return dict(self.stage.halt(reason))

    def _do(self, work: Any, name: str, max_steps: int) -> Any:
        """Run work as a task, one control step per yield; return how many it took."""
        if self._jog is not None:
            self._jog[0].stopped = True
            self._jog = None
        task, steps = self.stage.runtime.start(work, name=name), 0
        try:
            while not task.done() and steps < max_steps:
                self.stage.advance(PERIOD_NS)
                steps += 1
                yield
        finally:
            if not task.done():
                self.stage.runtime.start(task.cancel("stopped"), name="stop", detached=True)
        while not task.done() and steps < max_steps + CANCEL_STEPS:
            self.stage.advance(PERIOD_NS)
            steps += 1
            yield
        self._raise_if_failed(task)
        return steps

    def _raise_if_failed(self, task: Task[Any]) -> None:
        error = task.error()
        if error is None or task.status == "cancelled":
            return
        if not isinstance(error, InterlockError):
            raise error  # a fault of ours is not the agent's failure
        codes = error.codes if isinstance(error, GateRefusedError) else (task.code,)
        raise RefusedError(
            f"{task.name}: {task.reason}".rstrip("."),
            way_out="Look again with `robo observe`, then try another way",
            codes=tuple(codes),
        )

    def _is_held(self, position: Any, tool: Any) -> bool:
        pressing = self.stage.world.gripper_force_n >= 1.0
        return pressing and float(np.linalg.norm(position - tool)) < 0.06


def _vector(values: Any) -> Vector:
    return (float(values[0]), float(values[1]), float(values[2]))
