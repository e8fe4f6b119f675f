"""A task can be taken back at any moment; the arm is at rest when `cancel` returns."""

import asyncio

from interlock.policies.program import start, world
from interlock.policies.skills import MoveTo


async def main():
    task = start(MoveTo((0.55, -0.25, 0.3)))
    await asyncio.sleep(0.4)
    await task.cancel("changed my mind")
    speed = world.read("state", max_age_ms=200).tool_speed_mps
    return f"{task.status} at {speed * 1000:.0f} mm/s"
