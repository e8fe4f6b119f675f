"""Every decision takes three seconds, and the arm waits for each."""

import asyncio

from interlock.policies.program import start
from interlock.policies.skills import Grasp, Lift, Place

THINKING_S = 3.0
PLAN = [("cup_red", (0.0, -0.04)), ("cup_blue", (0.0, 0.04)), None]


async def decide(step: int) -> tuple[str, tuple[float, float]] | None:
    """Stand in for a slow model: what to move next and where on the tray; None when done."""
    await asyncio.sleep(THINKING_S)
    return PLAN[step]


async def main() -> str:
    """Decide, act, decide, act, until nothing is left to do."""
    step = 0
    while (decision := await decide(step)) is not None:
        cup, offset_m = decision
        await start(Grasp(cup))
        await start(Lift())
        await start(Place("tray", offset_m=offset_m))
        step += 1
    return f"{step} cups are on the tray"
