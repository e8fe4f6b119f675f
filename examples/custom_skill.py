"""A skill of your own: typed parameters with units, a loop that looks again in every cycle."""

import math
from dataclasses import dataclass

from interlock.policies.program import start
from interlock.policies.skills import Skill, skill
from interlock.policies.skills.poses import Target, raised, tool_down


@skill("circle")
@dataclass
class Circle(Skill):
    """Circle above an object, wherever it goes.

    Attributes:
        target: What to circle.
        radius_m: Radius, in m.
        turns: How many times round.
    """

    target: Target
    radius_m: float = 0.06
    turns: float = 1.0

    async def run(self, body):
        begin_ns = body.now_ns
        while (turned := (body.now_ns - begin_ns) / 3e9) < self.turns:
            angle = 2 * math.pi * turned
            pose = await body.find(self.target)
            point = raised(pose, 0.2)
            point[:2] += self.radius_m * math.cos(angle), self.radius_m * math.sin(angle)
            await body.line(tool_down(point, body.yaw_rad))
        return {"turns": self.turns}


async def main():
    await start(Circle("cup_red"))
    return "round once"
