"""One step after another: each `await` returns when the step is done, or raises why it is not."""

from interlock.policies.program import start
from interlock.policies.skills import Grasp, Lift, Place


async def main():
    await start(Grasp("cup_red"))
    await start(Lift(0.12))
    await start(Place("tray"))
    return "the cup is on the tray"
