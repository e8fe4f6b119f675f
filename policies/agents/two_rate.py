"""Two rates: a skill moves at the control rate while a slow model says where to."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from interlock.messages import InterlockError
from interlock.policies.agents.model import Budget, Turn
from interlock.policies.agents.tools import look
from interlock.policies.program import report, start
from interlock.policies.skills import Follow

if TYPE_CHECKING:
    from interlock.policies.agents.model import Model
    from interlock.policies.task import Task

SYSTEM = """A robot arm stays above the object that you name. Each time you are asked, answer with
one object's name, or with `stop`."""


async def two_rate(model: Model, instruction: str, budget: Budget, *, period_s: float = 1.0) -> str:
    """Follow what the model names, asking it every ``period_s``; return when it says stop."""
    following: Task[object] | None = None
    while True:
        budget.check()
        question = f"{instruction}\nThe world now: {look()['world']}"
        reply = await model.ask(SYSTEM, [Turn(role="user", text=question)], [])
        budget.count(reply)
        name = reply.text.strip()
        if name == "stop":
            if following is not None:
                await following.cancel("the model says stop")
            return "the model said stop"
        try:
            if following is None or following.done():
                following = start(Follow(name))
            else:
                following.update(target=name)
        except InterlockError as error:
            report(f"the model's answer is of no use: {error}")
        await asyncio.sleep(period_s)
