"""Agents by name, made from the options of a policy node."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

from interlock.messages import SettingsError
from interlock.policies.agents.code import code
from interlock.policies.agents.model import Budget
from interlock.policies.agents.providers import make_model
from interlock.policies.agents.react import react
from interlock.policies.agents.two_rate import two_rate
from interlock.policies.program import changes, start

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from interlock.policies.agents.model import Model

    Loop = Callable[[Model, str, Budget], Awaitable[str]]
    Program = Callable[[], Coroutine[Any, Any, str]]

#: World value that changes the instruction while an agent works.
INSTRUCTION = "instruction"


class Options(Protocol):
    """What agents read of a node's settings."""

    model: str
    base_url: str
    instruction: str
    max_steps: int
    max_tokens: int
    max_usd: float
    usd_per_million: tuple[float, float]
    max_seconds_s: float


def react_program(options: Options) -> Program:
    """One tool after another."""
    return _program(react, options)


def code_program(options: Options) -> Program:
    """Programs in a cell."""
    return _program(code, options)


def two_rate_program(options: Options) -> Program:
    """A slow model over a fast skill."""
    return _program(two_rate, options)


def _program(loop: Loop, options: Options) -> Program:
    if not options.instruction:
        raise SettingsError("an agent needs INSTRUCTION in its env:")
    model = make_model(options.model, base_url=options.base_url)
    budget = Budget(
        steps=options.max_steps,
        tokens=options.max_tokens,
        usd=options.max_usd,
        seconds_s=options.max_seconds_s,
        usd_per_million=options.usd_per_million,
    )
    return lambda: obey(loop, model, options.instruction, budget)


async def obey(loop: Loop, model: Model, instruction: str, budget: Budget) -> str:
    """Run an agent; when the world value ``instruction`` changes, start over with the new one."""
    while True:
        working = start(loop(model, instruction, budget), name=f"agent: {instruction[:60]}")  # type: ignore[arg-type]
        changed = start(_next_instruction(), name="watch instruction")
        await asyncio.wait(
            [asyncio.ensure_future(working.ended()), asyncio.ensure_future(changed.ended())],
            return_when=asyncio.FIRST_COMPLETED,
        )
        if working.done():
            await changed.cancel("the agent has ended")
            return str(await working)
        instruction = await changed
        await working.cancel("the instruction has changed")


async def _next_instruction() -> str:
    async for value in changes(INSTRUCTION):
        return str(value)
    return ""
