"""A slow decision is a task like any other: the arm works while the next one is made."""

import asyncio

from interlock.policies.program import start
from interlock.policies.skills import Grasp, Lift, Place


async def decide():
    """Stand in for a model that takes three seconds."""
    await asyncio.sleep(3.0)
    return "tray"


async def main():
    thinking = start(decide(), name="decide where")
    await start(Grasp("cup_red"))
    await start(Lift())
    where = await thinking
    await start(Place(where))
    return f"put it on the {where}"
