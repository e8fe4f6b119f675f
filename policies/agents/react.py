"""ReAct: the model uses one tool after another, and sees what each brought."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.policies.agents.model import AgentError, Budget, Turn
from interlock.policies.agents.tools import tools, use
from interlock.policies.program import report

if TYPE_CHECKING:
    from interlock.policies.agents.model import Model

SYSTEM = """You control a robot arm at a table through tools. Positions are x, y, z in m in the
world; z is up and the table's top is z = 0. Look before you act, use objects by name so that skills
follow them, and read what a refused or failed tool says before you try again. Use `done` at the
end."""


async def react(model: Model, instruction: str, budget: Budget) -> str:
    """Carry out an instruction and return the model's summary.

    Raises:
        AgentError: When the budget is spent or the model says that it can't be done.
    """
    turns, known = [Turn(role="user", text=instruction)], tools()
    while True:
        budget.check()
        reply = await model.ask(SYSTEM, turns, known)
        budget.count(reply)
        turns.append(Turn(role="model", text=reply.text, calls=reply.calls))
        if not reply.calls:
            turns.append(Turn(role="user", text="Use a tool; use `done` when you are done."))
        for call in reply.calls:
            if call.name == "done" and call.arguments is not None:
                summary = str(call.arguments.get("summary", ""))[:500]
                if call.arguments.get("success"):
                    return summary
                raise AgentError(f"the model gave up: {summary}")
            result = await use(call)
            report(f"{call.name}: {result[:160]}")
            turns.append(Turn(role="tool", text=result, call_id=call.id))
