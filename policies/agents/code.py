"""Code as policies: the model writes a program; when it fails, it sees why and writes another."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from interlock.messages import InterlockError
from interlock.policies.agents.cell import run_in_cell
from interlock.policies.agents.model import AgentError, Budget, Turn
from interlock.policies.agents.tools import look
from interlock.policies.program import report
from interlock.policies.skills import SKILLS
from interlock.policies.skills.schema import parameters_schema, summary
from interlock.policies.task import current_task

if TYPE_CHECKING:
    from interlock.policies.agents.model import Model

SYSTEM = """Write one Python program that moves a robot arm at a table. Positions are x, y, z in m
in the world; z is up, the table's top is z = 0. Answer with the program alone, in a ```python
block:

    from interlock.policies.program import changes, start, wait, world
    from interlock.policies.skills import Grasp, Lift, Place
    from interlock.policies.errors import EmptyGraspError, SlippedError, GateRefusedError

    async def main():
        await start(Grasp("cup_red"))

`start` returns a task at once: await it, task.update(target=...) it, or await task.cancel() it.
Skills, by class name, with their parameters:
"""
MAX_TOLD = 30


def system() -> str:
    """Return what the model is told, with every skill."""
    lines = []
    for cls in SKILLS.values():
        parameters = ", ".join(parameters_schema(cls)["properties"])
        lines.append(f"- {cls.__name__}({parameters}): {summary(cls)}")
    return SYSTEM + "\n".join(lines)


async def code(model: Model, instruction: str, budget: Budget, *, walls: bool = True) -> str:
    """Carry out an instruction with programs of the model; return the last one's result.

    Raises:
        AgentError: When the budget is spent before a program succeeded.
    """
    turns = [Turn(role="user", text=f"{instruction}\nThe world now: {look()}")]
    while True:
        budget.check()
        reply = await model.ask(system(), turns, [])
        budget.count(reply)
        turns.append(Turn(role="model", text=reply.text))
        try:
            return await run_in_cell(program_of(reply.text), walls=walls)
        except InterlockError as error:
            report(f"the program failed: {error}")
            happened = "\n".join(list(current_task().runtime.told)[-MAX_TOLD:])
            text = f"It failed: {error}\nWhat happened:\n{happened}\nThe world now: {look()}"
            turns.append(Turn(role="user", text=f"{text}\nWrite a program that goes on from here."))


def program_of(text: str) -> str:
    """Return the program in a model's answer.

    Raises:
        AgentError: If there is none.
    """
    found = re.findall(r"```(?:python)?\s*\n(.*?)```", text, flags=re.DOTALL)
    if found:
        return str(found[-1])
    if "async def main" in text:
        return text
    raise AgentError("the answer has no ```python block with `async def main()`")
