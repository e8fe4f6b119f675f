"""Look once, then do: each step waits for the one before and looks at nothing."""

from interlock.policies.program import start, world
from interlock.policies.skills import Approach, Grasp, Lift, Place


async def main() -> str:
    """Take the cup from where it was seen at the start."""
    cup = (await world.next("cup_red")).world_from_object
    spot = (cup[0], cup[1], cup[2] + 0.01)
    await start(Approach(spot))
    await start(Grasp(spot, touching="cup_red"))
    await start(Lift())
    await start(Place("tray"))
    return "cup_red is on the tray"
