"""A flat world for trials without a physics engine: a hand over a table, bodies that stack.

The hand travels above everything. Closing the gripper takes the topmost movable body under it;
opening lets it fall onto what lies below. Control steps are 20 ms.
"""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

from interlock.messages.errors import nearest
from interlock.trials.backend import Camera, Motion, WorldInfo
from interlock.trials.errors import RefusedError, UsageError
from interlock.trials.png import draw_boxes
from interlock.trials.scenario import Body, Scenario, Scene, Vector

REACH_M = 0.5
STEP_M = 0.05
GRASP_MARGIN_M = 0.01
CLOSED = 0.5

INFO = WorldInfo(
    world="cubepick",
    action=("dx", "dy", "grip"),
    low=(-STEP_M, -STEP_M, 0.0),
    high=(STEP_M, STEP_M, 1.0),
    units="dx and dy move the hand, in m per control step; grip 0 is closed, 1 is open",
    period_s=0.02,
    cameras=(Camera(name="top", width=224, height=224),),
    skills={
        "pick": "pick OBJECT: go to an object and close the gripper",
        "place": "place OBJECT|ZONE, or place X Y: go there and open the gripper",
    },
    reach_low_m=(-REACH_M, -REACH_M, 0.0),
    reach_high_m=(REACH_M, REACH_M, 0.4),
)


class CubePick:
    """The world; one body may be in the hand."""

    def __init__(self) -> None:
        self._scene = Scene(bodies={}, zones={}, hand_m=(0.0, 0.0, 0.2), grip_open=1.0)
        self._scenario = Scenario(objects={})

    def info(self) -> WorldInfo:
        """Return what may be known before acting."""
        return INFO

    def reset(self, scenario: Scenario, *, seed: int) -> None:
        """Put every body where the scenario has it."""
        del seed  # The scenario is seeded already.
        self._scenario = scenario
        bodies = {
            name: Body(position_m=t.position_m, size_m=t.size_m, start_m=t.position_m)
            for name, t in scenario.objects.items()
        }
        self._scene = Scene(
            bodies=bodies, zones=scenario.zones, hand_m=(0.0, 0.0, 0.2), grip_open=1.0
        )

    def close(self) -> None:
        """Hold nothing, so release nothing."""

    def conclude(self) -> None:
        """Do nothing: the scene shows everything."""

    def scene(self) -> Scene:
        """Return what is true now."""
        return self._scene

    def state(self, *, private: bool) -> dict[str, Any]:
        """Return hand and gripper; with ``private``, every body too."""
        x, y, _ = self._scene.hand_m
        state: dict[str, Any] = {"hand_m": [x, y], "grip_open": self._scene.grip_open}
        if private:
            state["holding"] = self._held()
            state["objects"] = {
                name: [round(value, 4) for value in body.position_m]
                for name, body in self._scene.bodies.items()
            }
            state["zones"] = {name: list(zone.centre_m) for name, zone in self._scene.zones.items()}
        return state

    def picture(self, camera: str, *, width: int, height: int) -> bytes:
        """Return a PNG seen from above; x to the right, y up."""
        del camera  # There is one, and the episode checked its name.
        return draw_boxes(self._boxes(), reach_m=REACH_M, width=width, height=height)

    def film_setup(self) -> tuple[str, Any]:
        """Return what draws this world."""
        return "interlock.trials.cubepick_film:BoxPainter", REACH_M

    def film_frame(self) -> bytes:
        """Return the boxes that are to be drawn now."""
        return json.dumps(self._boxes()).encode()

    def _boxes(self) -> list[tuple[Vector, tuple[float, float], str]]:
        boxes = [(z.centre_m, z.size_m, "pale") for z in self._scene.zones.values()]
        things = sorted(self._scene.bodies.items(), key=lambda item: item[1].position_m[2])
        for name, body in things:
            colour = self._scenario.objects[name].colour
            boxes.append((body.position_m, (body.size_m[0], body.size_m[1]), colour))
        return [*boxes, (self._scene.hand_m, (0.02, 0.02), "black")]

    def place(self, name: str, position_m: Vector) -> None:
        """Put a body somewhere: a disturbance. What the hand holds slips out of it."""
        self._change(name, position_m=position_m, held=False)

    def act(self, action: list[float]) -> Motion:
        """Move by dx, dy and set the gripper."""
        dx, dy, grip = action
        x, y, z = self._scene.hand_m
        self._step((x + dx, y + dy, z), grip)
        yield
        return {}

    def move_to(
        self, position_m: list[float], *, grip: float | None, tolerance_m: float, max_steps: int
    ) -> Motion:
        """Move straight to x, y; height has no meaning in a flat world."""
        _check_reach(position_m[0], position_m[1])
        opening = self._scene.grip_open if grip is None else grip
        for _ in range(max_steps):
            x, y, z = self._scene.hand_m
            dx, dy = position_m[0] - x, position_m[1] - y
            if math.hypot(dx, dy) <= min(tolerance_m, 1e-9) and self._scene.grip_open == opening:
                break
            scale = min(1.0, STEP_M / max(math.hypot(dx, dy), 1e-12))
            self._step((x + dx * scale, y + dy * scale, z), opening)
            yield
        left = math.dist(self._scene.hand_m[:2], position_m[:2])
        return {"reached": left <= tolerance_m, "distance_m": left}

    def grip(self, opening: float, *, steps: int) -> Motion:
        """Set the gripper; it takes one step, the rest is waiting."""
        for _ in range(steps):
            self._step(self._scene.hand_m, opening)
            yield
        return {"holding": self._held()}

    def wait(self, steps: int) -> Motion:
        """Hold still."""
        for _ in range(steps):
            self._step(self._scene.hand_m, self._scene.grip_open)
            yield
        return {}

    def skill(self, name: str, arguments: list[str]) -> Motion:
        """Run `pick` or `place`."""
        if name == "pick" and len(arguments) == 1:
            return self._carry(self._target(arguments), 0.0)
        if name == "place" and len(arguments) in (1, 2):
            return self._carry(self._target(arguments), 1.0)
        raise UsageError(f"skill {name} {' '.join(arguments)}: {INFO.skills[name]}")

    def _carry(self, target: Vector, opening: float) -> Motion:
        moved = yield from self.move_to(list(target), grip=None, tolerance_m=1e-6, max_steps=100)
        gripped = yield from self.grip(opening, steps=1)
        return {**moved, **gripped}

    def _target(self, arguments: list[str]) -> Vector:
        if len(arguments) == 2:
            try:
                x, y = (float(word) for word in arguments)
            except ValueError:
                raise UsageError(f"place takes X Y in m, got {' '.join(arguments)}") from None
            _check_reach(x, y)
            return (x, y, 0.0)
        known = {**self._scene.bodies, **self._scene.zones}
        if arguments[0] not in known:
            raise UsageError(f"nothing is called {arguments[0]!r}; {nearest(arguments[0], known)}")
        return self._scene.place(arguments[0])

    def _held(self) -> str | None:
        return next((name for name, body in self._scene.bodies.items() if body.held), None)

    def _step(self, hand_m: Vector, grip_open: float) -> None:
        _check_reach(hand_m[0], hand_m[1])
        was_closed = self._scene.grip_open <= CLOSED
        self._scene = dataclasses.replace(self._scene, hand_m=hand_m, grip_open=grip_open)
        held = self._held()
        if held is not None and grip_open > CLOSED:
            self._drop(held)
        elif held is not None:
            self._change(held, position_m=hand_m, held=True)
        elif grip_open <= CLOSED and not was_closed and (name := self._under_hand()):
            self._change(name, position_m=hand_m, held=True)

    def _under_hand(self) -> str | None:
        x, y, _ = self._scene.hand_m
        found = [
            (body.position_m[2], name)
            for name, body in self._scene.bodies.items()
            if self._scenario.objects[name].movable and _covers(body, x, y, GRASP_MARGIN_M)
        ]
        return max(found)[1] if found else None

    def _drop(self, name: str) -> None:
        body = self._scene.bodies[name]
        x, y, _ = self._scene.hand_m
        tops = [
            other.position_m[2] + other.size_m[2] / 2
            for key, other in self._scene.bodies.items()
            if key != name and _covers(other, x, y, 0.0)
        ]
        floor = max(tops, default=0.0)
        self._change(name, position_m=(x, y, floor + body.size_m[2] / 2), held=False)

    def _change(self, name: str, *, position_m: Vector, held: bool) -> None:
        body = dataclasses.replace(self._scene.bodies[name], position_m=position_m, held=held)
        self._scene = dataclasses.replace(self._scene, bodies={**self._scene.bodies, name: body})


def _covers(body: Body, x: float, y: float, margin_m: float) -> bool:
    dx, dy = abs(body.position_m[0] - x), abs(body.position_m[1] - y)
    return dx <= body.size_m[0] / 2 + margin_m and dy <= body.size_m[1] / 2 + margin_m


def _check_reach(x: float, y: float) -> None:
    if not (abs(x) <= REACH_M + 1e-9 and abs(y) <= REACH_M + 1e-9):
        raise RefusedError(
            f"the hand would be at ({x:.3f}, {y:.3f}) m, outside the table",
            way_out=f"Stay within {REACH_M} m of the centre in x and y",
            codes=("workspace",),
        )
