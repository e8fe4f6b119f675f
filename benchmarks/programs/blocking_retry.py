"""Look, do, and look again only when the fingers closed on nothing or lost it."""

from interlock.policies.errors import EmptyGraspError, SlippedError
from interlock.policies.program import start, world
from interlock.policies.skills import Approach, Grasp, Lift, Place, Release


async def attempt() -> None:
    """Take the cup from where it is seen now."""
    cup = (await world.next("cup_red")).world_from_object
    spot = (cup[0], cup[1], cup[2] + 0.01)
    await start(Approach(spot))
    await start(Grasp(spot, touching="cup_red"))
    await start(Lift())
    await start(Place("tray"))


async def main() -> str:
    """Try until it works."""
    while True:
        try:
            await attempt()
        except (EmptyGraspError, SlippedError):
            await start(Release())
        else:
            return "cup_red is on the tray"
