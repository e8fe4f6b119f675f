"""Take an object and put it on a place; start over when it was not where it seemed."""

from __future__ import annotations

from interlock.messages import InterlockError, StaleDataError
from interlock.policies.errors import EmptyGraspError, SlippedError
from interlock.policies.program import report, start
from interlock.policies.skills import Grasp, Lift, Place, Release


async def pick_and_place(*, target: str, on: str, attempts: int = 3) -> str:
    """Put ``target`` on ``on`` and return what was done as one line.

    Raises:
        InterlockError: If the last attempt failed, with its reason.
    """
    for attempt in range(1, attempts + 1):
        try:
            await start(Grasp(target))
            await start(Lift(0.12))
            await start(Place(on))
        except (EmptyGraspError, SlippedError, StaleDataError) as error:
            await start(Release())
            if attempt == attempts or isinstance(error, StaleDataError):
                raise
            report(f"attempt {attempt} failed: {error}")
        else:
            return f"{target} is on {on}"
    raise InterlockError(f"attempts is {attempts}: nothing was tried")
