"""Every decision takes three seconds, and the next one is made while the arm acts."""

import asyncio

from interlock.policies.program import start
from interlock.policies.skills import Grasp, Lift, Place

THINKING_S = 3.0
PLAN = [("cup_red", (0.0, -0.04)), ("cup_blue", (0.0, 0.04)), None]


async def decide(step: int) -> tuple[str, tuple[float, float]] | None:
    """Stand in for a slow model: what to move next and where on the tray; None when done."""
    await asyncio.sleep(THINKING_S)
    return PLAN[step]


async def move(cup: str, offset_m: tuple[float, float]) -> None:
    """Put a cup on the tray."""
    await start(Grasp(cup))
    await start(Lift())
    await start(Place("tray", offset_m=offset_m))


async def main() -> str:
    """Act on one decision while the next is being made."""
    step, decision = 0, await decide(0)
    while decision is not None:
        acting = start(move(*decision), name=f"step {step}")
        step += 1
        decision = await start(decide(step), name=f"decision {step}")
        await acting
    return f"{step} cups are on the tray"
