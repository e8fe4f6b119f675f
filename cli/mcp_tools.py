"""The tools of `interlock mcp`: one per skill, and those to start, wait, cancel and explain."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from interlock.cli.desk import DeskError
from interlock.policies.skills import SKILLS
from interlock.policies.skills.schema import parameters_schema, summary

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from interlock.cli.desk_client import DeskClient

    Progress = Callable[[float, str], Awaitable[None]]

#: Clients cut calls off after 10 to 60 s: a call says that it is alive this often, in s.
HEARTBEAT_S = 1.0
WAIT_S = 50.0
_NUMBER, _TEXT = {"type": "number"}, {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_GOAL = {"goal": {**_TEXT, "description": "goal id that `start` returned"}}

#: Name -> (description, JSON schema of the arguments).
OTHERS: dict[str, tuple[str, dict[str, Any]]] = {
    "start": (
        "Start a skill and return its goal id at once; then use poll, wait, update or cancel.",
        {
            "skill": {**_TEXT, "enum": sorted(SKILLS)},
            "parameters": {"type": "object"},
            "detached": {"type": "boolean", "description": "let it outlive this connection"},
        },
    ),
    "poll": ("Say how a started goal goes.", _GOAL),
    "update": ("Redirect a running goal.", {**_GOAL, "parameters": {"type": "object"}}),
    "cancel": ("Cancel a goal; returns when the arm is at rest.", {**_GOAL, "reason": _TEXT}),
    "wait_for": (
        "Wait until one of some goals has ended or one of some world keys has changed.",
        {"goals": _TEXTS, "wake_on": _TEXTS, "timeout_s": {**_NUMBER, "maximum": WAIT_S}},
    ),
    "world": (
        "Read what is known: objects, robot state, values, with their ages.",
        {"keys": _TEXTS},
    ),
    "set_world": ("Put a value into the World.", {"key": _TEXT, "value": {}}),
    "trace": ("Say what happened in this run and why something failed.", {}),
}
_REQUIRED = {
    "start": ["skill"],
    "poll": ["goal"],
    "update": ["goal", "parameters"],
    "cancel": ["goal"],
    "set_world": ["key", "value"],
}


def tool_list() -> list[tuple[str, str, dict[str, Any]]]:
    """Return name, description and argument schema of every tool."""
    skills = [(name, summary(cls), parameters_schema(cls)) for name, cls in sorted(SKILLS.items())]
    others = [
        (name, text, {"type": "object", "properties": fields, "required": _REQUIRED.get(name, [])})
        for name, (text, fields) in OTHERS.items()
    ]
    return skills + others


async def call_tool(
    desk: DeskClient, name: str, arguments: dict[str, Any], progress: Progress, *, runs: Path
) -> dict[str, Any]:
    """Run a tool; a cancelled call cancels the motion it started.

    Raises:
        DeskError: With the reason, as text for a model.
    """
    if name in SKILLS:
        return await _run_skill(desk, name, arguments, progress)
    if name not in OTHERS:
        raise DeskError(f"no tool {name!r}")
    if name == "trace":
        return {"text": await asyncio.to_thread(_explain, runs)}
    operation = {"wait_for": "wait", "set_world": "set"}.get(name, name)
    if name == "wait_for":
        arguments = {**arguments, "timeout_s": min(WAIT_S, arguments.get("timeout_s", WAIT_S))}
    return _plain(await desk.ask(op=operation, **arguments))


async def _run_skill(
    desk: DeskClient, name: str, arguments: dict[str, Any], progress: Progress
) -> dict[str, Any]:
    goal = (await desk.ask(op="start", skill=name, parameters=arguments))["goal"]
    beats = 0
    try:
        while True:
            answer = await desk.ask(op="wait", goals=[goal], timeout_s=HEARTBEAT_S)
            state = answer["goals"][goal]
            if state["status"] != "running":
                return _finished(state)
            beats += 1
            await progress(float(beats), state["phase"] or state["name"])
    except asyncio.CancelledError:
        await asyncio.shield(desk.ask(op="cancel", goal=goal, reason="its call was cancelled"))
        raise


def _finished(state: dict[str, Any]) -> dict[str, Any]:
    if state["status"] != "succeeded":
        raise DeskError(f"{state['name']} {state['status']}: {state['reason']}")
    return {"status": state["status"], "result": state["result"]}


def _plain(answer: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in answer.items() if k not in ("id", "ok")}


def _explain(runs: Path) -> str:
    from interlock.operators.trace import Trace, newest_run
    from interlock.operators.trace.explain import explain

    return explain(Trace(newest_run(runs))).text


def text_of(result: dict[str, Any]) -> str:
    """Return a result as text for a model."""
    return str(result["text"]) if set(result) == {"text"} else json.dumps(result)
