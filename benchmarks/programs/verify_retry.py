"""Look again between the steps; start over when the cup is not where it was."""

import math

from interlock.policies.errors import EmptyGraspError, SlippedError
from interlock.policies.program import start, world
from interlock.policies.skills import Approach, Grasp, Lift, Place, Release


async def look() -> tuple[float, float, float]:
    """Return where the fingers have to close now."""
    cup = (await world.next("cup_red")).world_from_object
    return cup[0], cup[1], cup[2] + 0.01


async def take() -> None:
    """Take the cup, checking before the fingers go down and before they close."""
    while True:
        spot = await look()
        await start(Approach(spot))
        if math.dist(spot, await look()) > 0.01:
            continue
        await start(Approach(spot, height_m=0.0, touching="cup_red"))
        if math.dist(spot, await look()) < 0.01:
            break
        await start(Approach(spot, touching="cup_red"))
    await start(Grasp(spot, touching="cup_red"))


async def main() -> str:
    """Try until it works."""
    while True:
        try:
            await take()
            await start(Lift())
            await start(Place("tray"))
        except (EmptyGraspError, SlippedError):
            await start(Release())
        else:
            return "cup_red is on the tray"
