"""Start tasks that follow the cup by themselves; only a lost cup starts over."""

from interlock.policies.errors import EmptyGraspError, SlippedError
from interlock.policies.program import start
from interlock.policies.skills import Grasp, Lift, Place, Release


async def main() -> str:
    """Put the cup on the tray, wherever it goes meanwhile."""
    while True:
        try:
            await start(Grasp("cup_red"))
            await start(Lift())
            await start(Place("tray"))
        except (EmptyGraspError, SlippedError):
            await start(Release())
        else:
            return "cup_red is on the tray"
