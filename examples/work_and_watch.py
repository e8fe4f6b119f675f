"""Plain asyncio composes: a watcher and a worker at once; the first to end decides."""

import asyncio

from interlock.policies.program import changes, start
from interlock.policies.skills import Grasp, Lift, Place


async def work():
    await start(Grasp("cup_red"))
    await start(Lift())
    await start(Place("tray"))
    return "the cup is on the tray"


async def watch():
    """End when the blue cup is moved by more than 3 cm."""
    first = None
    async for pose in changes("cup_blue"):
        first = pose if first is None else first
        if ((pose.world_from_object - first.world_from_object)[:2] ** 2).sum() > 0.03**2:
            return "somebody moved the blue cup"
    return "nobody moved the blue cup"


async def main():
    worker, watcher = start(work()), start(watch())
    ends = {asyncio.ensure_future(t.ended()): t for t in (worker, watcher)}
    done, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    return await ends[done.pop()]
