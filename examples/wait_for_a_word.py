"""A person triggers the next step: `interlock world set go true` (or two seconds of patience)."""

from interlock.policies.program import start, wait
from interlock.policies.skills import Approach, Grasp, Lift


async def main():
    await start(Approach("cup_red"))
    woken_by = await wait(wake_on=["go"], timeout_s=2.0)
    await start(Grasp("cup_red"))
    await start(Lift())
    return f"lifted it after {woken_by or 'waiting'}"
