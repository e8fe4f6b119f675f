"""Inside the cell: runs a program against messages on stdin and stdout. Started by `cell.py`.

The program uses the same ``start``, ``world`` and skills as anywhere; what they do happens outside.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.messages import InterlockError, SettingsError
from interlock.operators.world import ObjectPose
from interlock.policies import errors
from interlock.policies.load import compile_program
from interlock.policies.runtime import Runtime
from interlock.policies.task import uninterrupted

if TYPE_CHECKING:
    from interlock.policies.skills.skill import Skill
    from interlock.policies.task import Task

_ERRORS = {
    cls.code: cls
    for cls in vars(errors).values()
    if isinstance(cls, type) and issubclass(cls, errors.SkillError)
}


class CellRuntime(Runtime):
    """A runtime whose skills run outside the cell."""

    def __init__(self) -> None:
        super().__init__(owner="cell", arm=SimpleNamespace())
        self.requests: list[dict[str, Any]] = []
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._asked = 0

    async def run_skill(self, skill: Skill, task: Task[Any]) -> Any:
        """Have a skill run outside and return its result, or raise why it failed."""
        started = await self._ask(op="start", skill=skill.name, parameters=_parameters(skill))
        goal = started["goal"]
        skill.update = self._redirector(skill, goal)  # type: ignore[method-assign]
        try:
            state = await self._until_ended(goal)
        except asyncio.CancelledError:
            await uninterrupted(
                self._ask(op="cancel", goal=goal, reason="cancelled by its program")
            )
            raise
        if state["status"] != "succeeded":
            error = _ERRORS.get(state["code"], InterlockError)
            raise error(state["reason"])
        return state["result"]

    def take(self, message: dict[str, Any]) -> None:
        """Take in time, answers and what has changed in the world."""
        for answer in message.get("answers", ()):
            future = self._answers.pop(answer["id"], None)
            if future is not None and not future.done():
                future.set_result(answer)
        for key, (value, observed_ns, source) in message.get("world", {}).items():
            self.world.set(key, _value(key, value), observed_ns=observed_ns, source=source)

    async def _until_ended(self, goal: str) -> dict[str, Any]:
        while True:
            answer = await self._ask(op="wait", goals=[goal], timeout_s=60)
            state: dict[str, Any] = answer["goals"][goal]
            if state["status"] != "running":
                return state

    async def _ask(self, **request: Any) -> dict[str, Any]:
        self._asked += 1
        future: asyncio.Future[dict[str, Any]] = self.loop.create_future()
        self._answers[self._asked] = future
        self.requests.append({"id": self._asked, **request})
        answer = await future
        if not answer["ok"]:
            error = _ERRORS.get(answer.get("code", ""), SettingsError)
            raise error(answer["error"])
        return answer

    def _redirector(self, skill: Skill, goal: str) -> Any:
        def update(**changes: Any) -> None:
            self.loop.create_task(self._ask(op="update", goal=goal, parameters=changes))

        return update


def _parameters(skill: Skill) -> dict[str, Any]:
    values = {k: v for k, v in vars(skill).items() if not k.startswith("_") and v is not None}
    return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items() if v != ()}


def _value(key: str, value: Any) -> Any:
    if isinstance(value, dict) and "position_m" in value:
        pose = np.array([*value["position_m"], *value["quaternion_wxyz"]])
        return ObjectPose(name=key, world_from_object=pose, confidence=value["confidence"])
    if isinstance(value, dict) and "tool_position_m" in value:
        tool = np.array([*value["tool_position_m"], 0.0, 1.0, 0.0, 0.0])
        return SimpleNamespace(**value, world_from_tool=tool)
    return value


def main() -> None:
    """Serve until the program has ended or stdin closes."""
    # What the program prints must not be taken for messages.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    source = json.loads(sys.stdin.readline())["source"]
    runtime = CellRuntime()
    try:
        program = compile_program(source, "program.py")
    except InterlockError as error:
        _say(out, ended={"status": "failed", "reason": str(error), "code": "program"})
        return
    task = None
    for line in sys.stdin:
        message = json.loads(line)
        runtime.loop.run_until_idle(message["now_ns"])
        runtime.take(message)
        task = task or runtime.start(program(), name="program")
        runtime.loop.run_until_idle(message["now_ns"])
        requests, runtime.requests = runtime.requests, []
        told = list(runtime.told)
        runtime.told.clear()
        if task.done() and not requests:
            _say(out, told=told, ended=_ending(task))
            return
        _say(out, told=told, requests=requests)


def _ending(task: Task[Any]) -> dict[str, Any]:
    result = task.result() if task.status == "succeeded" else None
    return {
        "status": task.status,
        "reason": task.reason,
        "code": task.code,
        "result": None if result is None else str(result)[:2000],
    }


def _say(out: Any, **message: Any) -> None:
    out.write(json.dumps(message) + "\n")
    out.flush()


if __name__ == "__main__":
    main()
