"""One program against disturbances in lockstep: the real nodes, the real Gate, simulated time."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.benchmarks.arena_graph import dataflow
from interlock.nodes._lockstep import Lockstep

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

PROGRAMS = Path(__file__).parent / "programs"
STEP_NS = 10_000_000
#: Time after the program's end until the scene is judged, in ns.
SETTLE_NS = 500_000_000
#: Fingers closer than this have closed on nothing, in m.
EMPTY_M = 0.004
#: Fingers that stood still this long while closing had something between them, in steps.
HELD_STEPS = 10
TILT_MOST = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Disturbance:
    """Something that happens to the scene.

    Attributes:
        at_s: When, in s after the start.
        action: A method of ``robots.disturbances.Disturbances``, or of the eyes: ``hide`` and
            ``show`` (an object, by ``name``), ``crash`` and ``restart`` (the tracker).
        values: Its arguments.
    """

    at_s: float
    action: str
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcome:
    """What came of one run.

    Attributes:
        success: The object stands on the tray and the fingers are off it.
        ended: How the program said it ended; empty when it had to be stopped.
        failed: True when it ended with an error.
        completion_s: When it ended, in s.
        empty_closes: How often the fingers closed on nothing.
        tool: Commanded tool position every 10 ms, shape (n, 3), in m.
        idle_s: Time between the first motion and the end in which no task held the arm, in s.
        open_at_end: True when the fingers were open at the end.
        told: What the program's tasks said, one line each.
        forces_n: Largest force of the robot on each thing, in N.
        moved_m: How far each object is from where it stood at the start, in m.
    """

    success: bool
    ended: str
    failed: bool
    completion_s: float
    empty_closes: int
    tool: NDArray[np.float64]
    idle_s: float
    open_at_end: bool
    told: tuple[str, ...]
    forces_n: dict[str, float]
    moved_m: dict[str, float]


def play(
    program: str,
    disturbances: tuple[Disturbance, ...] = (),
    *,
    target: str = "cup_red",
    scene: str = "tabletop",
    layout_seed: int = 0,
    limit_s: float = 40.0,
    extra: dict[str, Any] | None = None,
    gate: dict[str, Any] | None = None,
    watch: Callable[[int, Any], None] | None = None,
) -> Outcome:
    """Run a program to its end and measure it.

    Args:
        program: One of the reference programs, or the path of a file.
        disturbances: What happens meanwhile.
        target: Object that is to be on the tray.
        scene: Scene.
        layout_seed: Layout of the scene.
        limit_s: The program is stopped after this time, in s.
        extra: Settings of the policy node.
        gate: Settings of the Gate's node.
        watch: Called with the step and the simulated world every 10 ms.
    """
    file = program if program.endswith(".py") else str(PROGRAMS / f"{program}.py")
    policy = {"POLICY": "program", "PROGRAM": file} | (extra or {})
    graph = dataflow(policy, scene=scene, layout_seed=layout_seed)
    next(n for n in graph["nodes"] if n["id"] == "gate")["env"] |= gate or {}
    with tempfile.TemporaryDirectory() as folder:
        run = Lockstep(graph, dataflow_dir=Path(folder), run_dir=Path(folder), seed=layout_seed)
        run.start()
        arena = _Arena(run, disturbances, target)
        arena.go(limit_s, watch)
        outcome = arena.outcome()
        run.stop()
        return outcome


class _Arena:
    def __init__(self, run: Lockstep, disturbances: tuple[Disturbance, ...], target: str) -> None:
        self._run, self._target = run, target
        self._driver = run.node("simulator").driver
        self._policy = run.node("policy")
        self._ahead = sorted(disturbances, key=lambda d: d.at_s)
        self._joints: list[NDArray[np.float64]] = []
        self._empty_closes, self._idle = 0, 0
        self._closing, self._held_steps, self._width_m = True, 0, 0.0
        self._began = False

    def go(self, limit_s: float, watch: Callable[[int, Any], None] | None) -> None:
        for step in range(round(limit_s * 1e9) // STEP_NS):
            now_ns = step * STEP_NS
            while self._ahead and self._ahead[0].at_s * 1e9 <= now_ns:
                self._disturb(self._ahead.pop(0))
            self._run.run_until(now_ns)
            self._note()
            if watch is not None:
                watch(step, self._driver.world)
            if self._policy.finished or self._policy.failed:
                break
        self._run.run_until(self._run.now_ns + SETTLE_NS)

    def _disturb(self, what: Disturbance) -> None:
        eyes = self._run.node("eyes")
        if what.action == "hide":
            eyes.hidden.add(what.values["name"])
        elif what.action == "show":
            eyes.hidden.discard(what.values["name"])
        elif what.action in ("crash", "restart"):
            eyes.dead = what.action == "crash"
        else:
            self._driver.disturb(what.action, what.values)

    def _note(self) -> None:
        driver = self._driver
        self._joints.append(driver.set_point.position)
        moving = self._policy.runtime.leases.moving
        self._began = self._began or moving
        self._idle += int(self._began and not moving)
        self._note_fingers(driver.set_point.gripper_m, driver.world.gripper_width_m)

    def _note_fingers(self, told: float | None, width_m: float) -> None:
        """Count closes that never held anything; an object that slips later is no such close."""
        if told is None or told >= EMPTY_M:
            self._closing, self._held_steps = True, 0
        elif width_m < EMPTY_M:
            self._empty_closes += int(self._closing and self._held_steps < HELD_STEPS)
            self._closing = False
        else:
            stands = abs(width_m - self._width_m) < 1e-4
            self._held_steps += int(stands)
        self._width_m = width_m

    def outcome(self) -> Outcome:
        forward = self._policy.runtime.arm.forward
        return Outcome(
            success=self._on_tray(),
            ended=self._policy.finished or self._policy.failed,
            failed=bool(self._policy.failed),
            completion_s=len(self._joints) * STEP_NS / 1e9,
            empty_closes=self._empty_closes,
            tool=np.array([forward(q)[:3] for q in self._joints]),
            idle_s=self._idle * STEP_NS / 1e9,
            open_at_end=self._driver.world.gripper_width_m > 0.07,
            told=tuple(self._policy.runtime.told),
            forces_n=self._driver.peak_forces_n(),
            moved_m=self._moved(),
        )

    def _moved(self) -> dict[str, float]:
        world = self._driver.world
        return {
            name: float(np.linalg.norm(pose[:3] - world.layout[name][:3]))
            for name, pose in world.object_poses().items()
        }

    def _on_tray(self) -> bool:
        world = self._driver.world
        pose, place = world.object_pose(self._target), self._policy.runtime.places["tray"]
        half = self._policy.runtime.things[self._target].half_height_m
        x, y, z = np.abs(pose[:3] - np.array(place.top_m))
        upright = abs(1 - 2 * (pose[4] ** 2 + pose[5] ** 2)) > 1 - TILT_MOST
        inside = x <= place.half_m[0] and y <= place.half_m[1] and abs(z - half) < 0.015
        off = float(np.linalg.norm(world.tool_pose[:3] - pose[:3])) > 0.05
        return bool(upright and inside and off)


def reaction_s(run: Outcome, undisturbed: Outcome, at_s: float, *, moved_m: float) -> float | None:
    """Return how long after a disturbance the commanded tool left its undisturbed way, in s.

    The runs are deterministic: until the program reacts, both command the same motion.

    Args:
        run: The disturbed run.
        undisturbed: The same program and layout without the disturbance.
        at_s: When the disturbance began, in s.
        moved_m: Distance between the two commanded motions that counts as a reaction, in m.
    """
    steps = min(len(run.tool), len(undisturbed.tool))
    apart = np.linalg.norm(run.tool[:steps] - undisturbed.tool[:steps], axis=1) > moved_m
    first = round(at_s * 1e9) // STEP_NS
    found = np.flatnonzero(apart[first:])
    return float(found[0] * STEP_NS / 1e9) if len(found) else None
