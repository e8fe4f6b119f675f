"""What outside clients ask of the tasks: start, wait, cancel, redirect, read and set the World.

One client is one owner: what it started ends when it goes away, unless it was detached.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.messages import InterlockError, MessageError, RobotState, WorldValue, nearest
from interlock.operators.world import MAX_VALUE_BYTES, ObjectPose
from interlock.policies.errors import ProgramError, code_of
from interlock.policies.skills import SKILLS, make_skill

if TYPE_CHECKING:
    from collections.abc import Callable

    from interlock.policies.runtime import Runtime
    from interlock.policies.task import Task

#: Bounds on what one client may have going on.
MAX_TASKS = 64
MAX_PENDING = 64
MAX_WAIT_S = 600.0
OPERATIONS = ("skills", "start", "poll", "wait", "cancel", "update", "list", "world", "set")


class Desk:
    """Serves clients of one runtime; everything happens in the runtime's own loop."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._tasks: dict[str, Task[Any]] = {}
        self._of_client: dict[str, set[str]] = {}
        self._pending: dict[str, set[asyncio.Task[None]]] = {}

    def ask(self, client: str, request: Any, reply: Callable[[dict[str, Any]], None]) -> None:
        """Take a request; ``reply`` is called once, now or later."""
        pending = self._pending.setdefault(client, set())
        if len(pending) >= MAX_PENDING:
            reply({"ok": False, "error": f"{MAX_PENDING} requests are waiting already"})
            return
        work = self._runtime.loop.create_task(self._answer(client, request, reply))
        pending.add(work)
        work.add_done_callback(pending.discard)

    def gone(self, client: str) -> None:
        """End what a client had going on: it has disconnected or died."""
        for work in self._pending.pop(client, ()):
            work.cancel()
        for goal in self._of_client.pop(client, ()):
            task = self._tasks[goal]
            if not task.done() and not task.detached:
                self._runtime.loop.create_task(task.cancel("its client disconnected"))

    async def _answer(
        self, client: str, request: Any, reply: Callable[[dict[str, Any]], None]
    ) -> None:
        try:
            if not isinstance(request, dict) or request.get("op") not in OPERATIONS:
                op = request.get("op") if isinstance(request, dict) else request
                raise ProgramError(f"no operation {op!r:.40}; {nearest(str(op)[:40], OPERATIONS)}")
            result = await getattr(self, f"_{request['op']}")(client, request)
        except (InterlockError, KeyError, TypeError, ValueError) as error:
            text = str(error) if isinstance(error, InterlockError) else repr(error)
            reply({"ok": False, "error": text, "code": code_of(error)})
        else:
            reply({"ok": True, **result})

    async def _skills(self, client: str, request: dict[str, Any]) -> dict[str, Any]:
        return {"skills": sorted(SKILLS)}

    async def _start(self, client: str, request: dict[str, Any]) -> dict[str, Any]:
        goals = self._of_client.setdefault(client, set())
        if sum(not self._tasks[g].done() for g in goals) >= MAX_TASKS:
            raise ProgramError(f"this client has {MAX_TASKS} tasks already; cancel one first")
        skill = make_skill(str(request["skill"]), request.get("parameters") or {})
        task = self._runtime.start(
            skill,
            priority=int(request.get("priority", 0)),
            detached=bool(request.get("detached", False)),
        )
        self._tasks[task.id] = task
        goals.add(task.id)
        self._forget_old()
        return {"goal": task.id, "name": task.name}

    async def _poll(self, client: str, request: dict[str, Any]) -> dict[str, Any]:
        return report(self._task(request))

    async def _wait(self, client: str, request: dict[str, Any]) -> dict[str, Any]:
        """Wait for goals to end or keys to change, whatever comes first."""
        keys = tuple(str(k) for k in request.get("wake_on") or ())
        tasks = [self._named(str(g)) for g in request.get("goals") or ()]
        timeout_s = min(MAX_WAIT_S, max(0.0, float(request.get("timeout_s", 30.0))))
        woke = await self._first(tasks, keys, timeout_s)
        return {"woke": woke, "goals": {t.id: report(t) for t in tasks}}

    async def _first(self, tasks: list[Task[Any]], keys: tuple[str, ...], timeout_s: float) -> str:
        waits = [asyncio.ensure_future(_ended(task)) for task in tasks]
        if keys:
            waits.append(asyncio.ensure_future(self._changed(keys)))
        if not waits:
            await asyncio.sleep(timeout_s)
            return ""
        try:
            done, _ = await asyncio.wait(
                waits, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            for wait in waits:
                wait.cancel()
        return next(iter(done)).result() if done else ""

    async def _changed(self, keys: tuple[str, ...]) -> str:
        return (await self._runtime.world.next(*keys)).key

    async def _cancel(self, client: str, request: dict[str, Any]) -> dict[str, Any]:
        task = self._task(request)
        await task.cancel(str(request.get("reason", "cancelled by its client"))[:200])
        return report(task)

    async def _update(self, client: str, request: dict[str, Any]) -> dict[str, Any]:
        task = self._task(request)
        task.update(**dict(request.get("parameters") or {}))
        return report(task)

    async def _list(self, client: str, request: dict[str, Any]) -> dict[str, Any]:
        return {"tasks": [report(task) for task in self._tasks.values()]}

    async def _world(self, client: str, request: dict[str, Any]) -> dict[str, Any]:
        world, now_ns = self._runtime.world, self._runtime.loop.now_ns
        names = [str(k) for k in request.get("keys") or world.keys()]
        found = {}
        for name in names:
            entry = world.latest(name)
            if entry is not None:
                found[name] = {
                    "value": shown(entry.value),
                    "age_ms": round(entry.age_ns(now_ns) / 1e6, 1),
                    "source": entry.source,
                }
        places = {name: list(place.top_m) for name, place in self._runtime.places.items()}
        return {"world": found, "places": places}

    async def _set(self, client: str, request: dict[str, Any]) -> dict[str, Any]:
        text = json.dumps(request["value"])
        if len(text) > MAX_VALUE_BYTES:
            raise MessageError(f"the value has {len(text)} bytes, at most {MAX_VALUE_BYTES}")
        key, now_ns = str(request["key"]), self._runtime.loop.now_ns
        source = str(request.get("source", client))[:60]
        self._runtime.world.set(key, request["value"], observed_ns=now_ns, source=source)
        self._runtime.send("value", WorldValue(key=key, value=text))
        return {"key": key}

    def _task(self, request: dict[str, Any]) -> Task[Any]:
        return self._named(str(request.get("goal", "")))

    def _named(self, goal: str) -> Task[Any]:
        if goal not in self._tasks:
            raise ProgramError(f"no goal {goal!r:.60}; {nearest(goal[:60], self._tasks)}")
        return self._tasks[goal]

    def _forget_old(self) -> None:
        ended = [g for g, t in self._tasks.items() if t.done()]
        for goal in ended[: -MAX_TASKS or None]:
            del self._tasks[goal]
            for goals in self._of_client.values():
                goals.discard(goal)


async def _ended(task: Task[Any]) -> str:
    await task.ended()
    return task.id


def report(task: Task[Any]) -> dict[str, Any]:
    """Return how a task goes, or how it ended."""
    result = task.result() if task.done() and task.status == "succeeded" else None
    return {
        "goal": task.id,
        "name": task.name,
        "status": task.status,
        "phase": task.phase,
        "reason": task.reason,
        "code": task.code,
        "result": result if isinstance(result, dict | str | int | float | bool) else None,
    }


def shown(value: Any) -> Any:
    """Return a value of the World as JSON data."""
    if isinstance(value, ObjectPose):
        pose = [round(float(x), 4) for x in value.world_from_object]
        return {"position_m": pose[:3], "quaternion_wxyz": pose[3:], "confidence": value.confidence}
    if isinstance(value, RobotState):
        return {
            "tool_position_m": [round(float(x), 4) for x in value.world_from_tool[:3]],
            "joints_rad": [round(float(x), 4) for x in value.position],
            "gripper_width_m": round(value.gripper_width_m, 4),
            "gripper_force_n": round(value.gripper_force_n, 1),
            "tool_speed_mps": round(value.tool_speed_mps, 4),
            "at_rest": value.at_rest,
        }
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value if isinstance(value, dict | list | str | int | float | bool | None) else str(value)
