"""The world triggers the next step: a running task is redirected whenever another cup is nearer."""

from interlock.policies.program import changes, start, world
from interlock.policies.skills import Follow

CUPS = ("cup_red", "cup_blue")


def nearest():
    tool = world.read("state", max_age_ms=200).world_from_tool
    poses = {cup: world.read(cup, max_age_ms=500).world_from_object for cup in CUPS}
    return min(CUPS, key=lambda cup: ((poses[cup] - tool)[:2] ** 2).sum())


async def main():
    for cup in CUPS:
        await world.next(cup)
    task = start(Follow(nearest(), height_m=0.2, duration_s=2.0))
    async for _ in changes("cup_red", while_running=task):
        task.update(target=nearest())
    return f"stayed with {task.skill.target}"
