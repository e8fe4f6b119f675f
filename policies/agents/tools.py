"""The robot as tools for a model, made from the registry of skills."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from interlock.messages import InterlockError
from interlock.policies.agents.model import Tool
from interlock.policies.desk import shown
from interlock.policies.errors import code_of
from interlock.policies.program import start, wait
from interlock.policies.skills import SKILLS, make_skill
from interlock.policies.skills.schema import parameters_schema, summary
from interlock.policies.task import current_task

if TYPE_CHECKING:
    from interlock.policies.agents.model import Call

_KEYS = {"type": "array", "items": {"type": "string"}}

LOOK = Tool(
    name="look",
    description="Say where objects are, how the robot is, and how old each value is.",
    schema={"type": "object", "properties": {"keys": _KEYS}},
)
WAIT_FOR = Tool(
    name="wait_for",
    description="Wait until one of some values changes.",
    schema={
        "type": "object",
        "properties": {"wake_on": _KEYS, "timeout_s": {"type": "number", "maximum": 60}},
        "required": ["wake_on"],
    },
)
DONE = Tool(
    name="done",
    description="Say that the instruction is carried out, or that it can't be.",
    schema={
        "type": "object",
        "properties": {"success": {"type": "boolean"}, "summary": {"type": "string"}},
        "required": ["success", "summary"],
    },
)


def tools() -> list[Tool]:
    """Return every tool."""
    skills = [
        Tool(name=name, description=summary(cls), schema=parameters_schema(cls))
        for name, cls in sorted(SKILLS.items())
    ]
    return [*skills, LOOK, WAIT_FOR, DONE]


async def use(call: Call) -> str:
    """Use a tool and return its result, or why it failed, as text for the model."""
    if call.arguments is None:
        return "error: the arguments were no JSON object"
    try:
        result = await _use(call.name, call.arguments)
    except (InterlockError, TypeError, ValueError, KeyError) as error:
        return f"error ({code_of(error)}): {error}"
    return json.dumps(result)


async def _use(name: str, arguments: dict[str, Any]) -> Any:
    if name == "look":
        return look(tuple(arguments.get("keys") or ()))
    if name == "wait_for":
        timeout_s = min(60.0, float(arguments.get("timeout_s", 10.0)))
        return {"woke": await wait(wake_on=arguments["wake_on"], timeout_s=timeout_s)}
    return await start(make_skill(name, arguments))


def look(keys: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return what is known, with ages."""
    runtime = current_task().runtime
    found = {}
    for key in keys or runtime.world.keys():
        entry = runtime.world.latest(key)
        if entry is not None:
            age_ms = round(entry.age_ns(runtime.loop.now_ns) / 1e6)
            found[key] = {"value": shown(entry.value), "age_ms": age_ms}
    places = {name: place.top_m for name, place in runtime.places.items()}
    return {"world": found, "places": places}
