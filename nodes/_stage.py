"""The default graph with an episode node, in one process on simulated time, for trials.

The scene comes as the data of a scene file; nothing here knows of tasks.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from interlock.messages import Stop
from interlock.nodes._lockstep import Lockstep
from interlock.policies.skills.known import Place
from interlock.robots.ray_camera import RayCamera

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from interlock.policies.runtime import Runtime

NODES = Path(__file__).resolve().parent
SCENE_FILE = "scene.yml"
WARM_UP_NS = 200_000_000
_TICK = "dora/timer/millis/20"
_TICK_NS = 20_000_000
#: A stop from any speed is over after so many ticks.
_REST_TICKS = 100
_SCENE = {"SCENE": SCENE_FILE}
_GRAPH: dict[str, tuple[dict[str, str], list[str], dict[str, str]]] = {
    "simulator": (
        {"tick": "dora/timer/millis/10", "command": "gate/command"},
        ["state", "event"],
        {},
    ),
    "tracker": ({"state": "simulator/state"}, ["objects", "event"], {"SOURCE": "truth"}),
    "gate": (
        {
            "state": "simulator/state",
            "objects": "tracker/objects",
            "command": "episode/command",
            "request": "episode/request",
            "heartbeat": "episode/heartbeat",
            "cancel": "episode/cancel",
            "operator_stop": "episode/operator_stop",
            "tick": _TICK,
        },
        ["command", "verdict", "grant", "status", "event"],
        {},
    ),
    "episode": (
        {
            "state": "simulator/state",
            "objects": "tracker/objects",
            "verdict": "gate/verdict",
            "grant": "gate/grant",
            "status": "gate/status",
            "tick": _TICK,
        },
        ["command", "request", "heartbeat", "cancel", "result", "event", "operator_stop"],
        {},
    ),
}


class Stage:
    """One run of the graph: time, the simulated world, and the runtime that moves it.

    Args:
        scene: Data of a scene file.
        places: Name -> middle of the upper surface (x, y, z in m) and half sizes (x, y in m).
        folder: Folder of the run.
        gate: Name of the Gate's configuration.
        seed: Seed of the run.
    """

    def __init__(
        self,
        scene: dict[str, Any],
        places: Mapping[str, tuple[tuple[float, float, float], tuple[float, float]]],
        *,
        folder: Path,
        gate: str,
        seed: int,
    ) -> None:
        text = yaml.safe_dump(scene)
        (folder / SCENE_FILE).write_text(text, encoding="utf-8")
        flow = {"nodes": [_node(name, gate) for name in _GRAPH]}
        self._run = Lockstep(flow, dataflow_dir=folder, run_dir=folder, seed=seed)
        self._driver = self._run.node("simulator").driver
        self._cameras: dict[tuple[str, int, int], RayCamera] = {}
        self.runtime: Runtime = self._run.node("episode").runtime
        for name, (top_m, half_m) in places.items():
            self.runtime.places[name] = Place(top_m=top_m, half_m=half_m)
        self._run.start()
        self._run.run_until(WARM_UP_NS)

    @property
    def world(self) -> Any:
        """The simulated world, for judging and drawing."""
        return self._driver.world

    @property
    def told_width_m(self) -> float:
        """Distance between the fingers that was last commanded, in m."""
        return float(self._driver.state().gripper_target_m)

    def advance(self, by_ns: int) -> None:
        """Let time pass.

        Raises:
            RuntimeError: If a node failed: nothing that an agent could be blamed for.
        """
        self._run.run_until(self._run.now_ns + by_ns)
        if self._run.failures:
            raise RuntimeError("; ".join(self._run.failures))

    def halt(self, reason: str) -> dict[str, Any]:
        """Stop at the Gate and let the arm come to rest; return what happened."""
        before = self._run.node("gate").gate.status(self._run.now_ns)
        self.runtime.send("operator_stop", Stop(by="operator", reason=reason))
        for _ in range(_REST_TICKS):
            self.advance(_TICK_NS)
            status = self.runtime.status
            if status is not None and status.state == "stopped" and status.at_rest:
                break
        after = self._run.node("gate").gate.status(self._run.now_ns)
        return {
            "was_at_rest": before.at_rest,
            "had_the_arm": before.arm_task,
            "commands_before": before.admitted,
            "commands_after": after.admitted - before.admitted,
            "gate": after.state,
            "at_rest": after.at_rest,
        }

    def put(self, name: str, position_m: tuple[float, float, float]) -> None:
        """Put an object somewhere, upright."""
        pose = np.array([*position_m, 1.0, 0.0, 0.0, 0.0])
        self._driver.disturb("put", {"name": name, "world_from_object": pose})

    def render(self, camera: str, *, width: int, height: int) -> NDArray[np.uint8]:
        """Return a picture, RGB, shape (height, width, 3)."""
        key = (camera, width, height)
        if key not in self._cameras:
            model = self.world.model
            self._cameras[key] = RayCamera(model, camera, width=width, height=height)
        return self._cameras[key].render(self.world.data).rgb

    def physics(self) -> bytes:
        """Return the full physics state, float64, for drawing it elsewhere."""
        return bytes(self._driver.state().physics.tobytes())

    def close(self) -> None:
        """Stop every node."""
        self._run.stop()


def _node(name: str, gate: str) -> dict[str, Any]:
    inputs, outputs, settings = _GRAPH[name]
    env = _SCENE | settings | ({"CONFIG": gate} if name == "gate" else {})
    path = str(NODES / f"{name}.py")
    return {"id": name, "path": path, "inputs": inputs, "outputs": outputs, "env": env}
