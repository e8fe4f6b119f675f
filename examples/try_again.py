"""An error says what happened; the program decides what to do about it."""

from interlock.policies.errors import EmptyGraspError, SlippedError
from interlock.policies.program import report, start
from interlock.policies.skills import Grasp, Lift, Place, Release


async def main():
    for attempt in range(3):
        try:
            await start(Grasp("cup_red"))
            await start(Lift())
            await start(Place("tray"))
            return f"done at attempt {attempt + 1}"
        except (EmptyGraspError, SlippedError) as error:
            report(f"again, because {error}")
            await start(Release())
    raise RuntimeError("three attempts were not enough")
