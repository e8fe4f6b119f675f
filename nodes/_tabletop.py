"""The tabletop world of trials: the default graph in one process on simulated time.

Every motion an agent asks for goes through the Gate, as it does under dora. A control step is
20 ms.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from interlock.nodes import _tabletop_graph as graph
from interlock.nodes._lockstep import Lockstep
from interlock.nodes._trial_skills import Fingers, Jog, pick, place
from interlock.policies.errors import GateRefusedError
from interlock.policies.skills import Home, MoveTo, Push, Release
from interlock.policies.skills.known import Place
from interlock.trials.backend import Camera, Motion, WorldInfo
from interlock.trials.errors import RefusedError, UsageError
from interlock.trials.scenario import Body, Scenario, Scene, Vector

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from interlock.policies.skills import Skill
    from interlock.policies.task import Task

PERIOD_NS = 20_000_000
WARM_UP_NS = 200_000_000
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
    cameras=tuple(Camera(name=name, width=224, height=224) for name in (*graph.CAMERAS, "wrist")),
    skills={
        "pick": "pick OBJECT: take it and lift it by 12 cm",
        "place": "place OBJECT|ZONE, or place X Y [Z]: put what is held there and let go",
        "push": "push OBJECT DX DY: push it along the table, in m",
        "release": "release: open the fingers and go up",
        "home": "home: move the arm to its home position",
    },
    reach_low_m=(0.25, -0.55, 0.0),
    reach_high_m=(0.80, 0.55, 0.7),
)


class Tabletop:
    """A Panda at a table, behind its Gate."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="interlock-tabletop-")
        self._scenario = Scenario(objects={})
        self._run: Lockstep | None = None
        self._jog: tuple[Jog, Task[Any]] | None = None
        self._cameras: dict[tuple[str, int, int], Any] = {}

    def info(self) -> WorldInfo:
        """Return what may be known before acting."""
        return INFO

    def reset(self, scenario: Scenario, *, seed: int) -> None:
        """Build the scene, start every node, and let a moment pass."""
        folder = Path(self._folder.name)
        text = yaml.safe_dump(graph.scene_data(scenario))
        (folder / graph.SCENE_FILE).write_text(text, encoding="utf-8")
        self._scenario = scenario
        self._cameras.clear()
        flow = graph.dataflow("default")
        self._run = Lockstep(flow, dataflow_dir=folder, run_dir=folder, seed=seed)
        self._driver = self._run.node("simulator").driver
        self._node = self._run.node("episode")
        for name, zone in scenario.zones.items():
            half = (zone.size_m[0] / 2, zone.size_m[1] / 2)
            self._node.runtime.places[name] = Place(top_m=zone.centre_m, half_m=half)
        self._run.start()
        self._run.run_until(WARM_UP_NS)

    def close(self) -> None:
        """Stop every node and forget the folder."""
        if self._run is not None:
            self._run.stop()
        self._folder.cleanup()

    def scene(self) -> Scene:
        """Return what is physically true now."""
        world = self._driver.world
        tool = world.tool_pose[:3]
        bodies = {}
        for name, thing in self._scenario.objects.items():
            position = world.object_pose(name)[:3]
            bodies[name] = Body(
                position_m=_vector(position),
                size_m=thing.size_m,
                held=self._is_held(position, tool),
                start_m=thing.position_m,
            )
        return Scene(
            bodies=bodies,
            zones=self._scenario.zones,
            hand_m=_vector(tool),
            grip_open=min(1.0, max(0.0, world.gripper_width_m / OPEN_M)),
        )

    def state(self, *, private: bool) -> dict[str, Any]:
        """Return hand, gripper and joints; with ``private``, every body too."""
        scene, world = self.scene(), self._driver.world
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
        from interlock.robots.ray_camera import RayCamera
        from interlock.trials.png import encode_rgb

        world = self._driver.world
        key = (camera, width, height)
        if key not in self._cameras:
            self._cameras[key] = RayCamera(world.model, camera, width=width, height=height)
        rgb = self._cameras[key].render(world.data).rgb
        filtered = np.zeros((height, 1 + 3 * width), np.uint8)
        filtered[:, 1:] = rgb.reshape(height, -1)
        return encode_rgb(filtered.tobytes(), width=width, height=height)

    def place(self, name: str, position_m: Vector) -> None:
        """Put a body somewhere, upright: a disturbance."""
        pose = np.array([*position_m, 1.0, 0.0, 0.0, 0.0])
        self._driver.disturb("put", {"name": name, "world_from_object": pose})

    def act(self, action: list[float]) -> Motion:
        """Push the tool's goal along and follow it for one control step."""
        if self._jog is None or self._jog[1].done():
            goal = [float(value) for value in self._driver.world.tool_pose[:3]]
            width = self._driver.state().gripper_target_m
            jog = Jog(goal_m=goal, width_m=width, told_m=width)
            task = self._node.runtime.start(jog, name="jog")
            # The runtime runs a copy, so that one skill object can be started twice.
            self._jog = (task.skill, task)
        jog, task = self._jog
        goal = [a + b for a, b in zip(jog.goal_m, action[:3], strict=True)]
        _check_reach(goal)
        jog.goal_m, jog.width_m = goal, action[3] * OPEN_M
        while True:
            self._advance()
            yield
            self._raise_if_failed(task)
            if task.done() or abs(jog.width_m - jog.told_m) < 1e-6:
                return {"goal_m": [round(value, 4) for value in goal]}

    def move_to(
        self, position_m: list[float], *, grip: float | None, tolerance_m: float, max_steps: int
    ) -> Motion:
        """Move the tool, pointing down, to a position."""
        _check_reach(position_m)
        steps = 0
        if grip is not None:
            steps = yield from self._do(Fingers(width_m=grip * OPEN_M), "fingers", max_steps)
        target = (position_m[0], position_m[1], position_m[2])
        yield from self._do(MoveTo(target), "move-to", max(1, max_steps - steps))
        left = float(np.linalg.norm(self._driver.world.tool_pose[:3] - np.array(position_m)))
        return {"reached": left <= tolerance_m, "distance_m": round(left, 4)}

    def grip(self, opening: float, *, steps: int) -> Motion:
        """Move the fingers, then wait until the steps are over."""
        used = yield from self._do(Fingers(width_m=opening * OPEN_M), "fingers", 100)
        for _ in range(max(0, steps - used)):
            self._advance()
            yield
        return {"width_m": round(float(self._driver.world.gripper_width_m), 4)}

    def wait(self, steps: int) -> Motion:
        """Let time pass."""
        for _ in range(steps):
            self._advance()
            yield
        return {}

    def skill(self, name: str, arguments: list[str]) -> Motion:
        """Run a named skill to its end."""
        work = self._work(name, arguments)
        return self._result(work, " ".join([name, *arguments]))

    def _result(self, work: Skill | Coroutine[Any, Any, Any], name: str) -> Motion:
        yield from self._do(work, name, 10**6)
        return {}

    def _work(self, name: str, arguments: list[str]) -> Skill | Coroutine[Any, Any, Any]:
        numbers = _numbers(arguments)
        match name, len(arguments):
            case "pick", 1:
                return pick(self._known(arguments[0]))
            case "place", 1:
                return place(self._known(arguments[0]))
            case "place", 2 | 3 if numbers is not None:
                return place((numbers[0], numbers[1], numbers[2] if len(numbers) == 3 else 0.0))
            case "push", 3 if (by := _numbers(arguments[1:])) is not None:
                return Push(self._known(arguments[0]), by_m=(by[0], by[1]))
            case "release", 0:
                return Release()
            case "home", 0:
                return Home()
        raise UsageError(f"skill {name} {' '.join(arguments)}: {INFO.skills[name]}")

    def _known(self, name: str) -> str:
        if name not in self._scenario.names():
            from interlock.messages.errors import nearest

            raise UsageError(f"nothing is called {name!r}; {nearest(name, self._scenario.names())}")
        return name

    def _do(self, work: Any, name: str, max_steps: int) -> Any:
        """Run work as a task, one control step per yield; return how many it took."""
        if self._jog is not None:
            self._jog[0].stopped = True
            self._jog = None
        task, steps = self._node.begin(work, name=name), 0
        try:
            while not task.done() and steps < max_steps:
                self._advance()
                steps += 1
                yield
        finally:
            if not task.done():
                self._node.cancel(task, "stopped")
        while not task.done() and steps < max_steps + CANCEL_STEPS:
            self._advance()
            steps += 1
            yield
        self._raise_if_failed(task)
        return steps

    def _advance(self) -> None:
        assert self._run is not None
        self._run.run_until(self._run.now_ns + PERIOD_NS)
        if self._run.failures:
            raise RuntimeError("; ".join(self._run.failures))

    def _raise_if_failed(self, task: Task[Any]) -> None:
        error = task.error()
        if error is None or task.status == "cancelled":
            return
        codes = error.codes if isinstance(error, GateRefusedError) else (task.code,)
        raise RefusedError(
            f"{task.name}: {task.reason}".rstrip("."),
            way_out="Look again with `robo observe`, then try another way",
            codes=tuple(codes),
        )

    def _is_held(self, position: Any, tool: Any) -> bool:
        pressing = self._driver.world.gripper_force_n >= 1.0
        return pressing and float(np.linalg.norm(position - tool)) < 0.06


def _vector(values: Any) -> Vector:
    x, y, z = (float(value) for value in values)
    return (x, y, z)


def _numbers(words: list[str]) -> list[float] | None:
    try:
        return [float(word) for word in words]
    except ValueError:
        return None


def _check_reach(position_m: list[float]) -> None:
    low, high = INFO.reach_low_m, INFO.reach_high_m
    if all(a <= value <= b for a, value, b in zip(low, position_m, high, strict=True)):
        return
    shown = ", ".join(f"{value:.3f}" for value in position_m)
    raise RefusedError(
        f"({shown}) m is outside the reach of the arm",
        way_out=f"Stay within {low} to {high} m",
        codes=("workspace",),
    )
