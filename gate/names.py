"""Names in a configuration against the names in the scene: a guard for nothing is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.gate.errors import GateConfigError
from interlock.messages.errors import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from interlock.gate.checks.path import Path
    from interlock.gate.config import Zone
    from interlock.gate.robot import JointLimits, Obstacle, RobotModel

#: Pairs nearer than this name the links of the robot.
_ALL_M = 1.0


def refuse_unknown_names(
    robot: RobotModel,
    limits: JointLimits,
    fixtures: Sequence[Obstacle],
    objects: Sequence[Obstacle],
    *,
    zones: Sequence[Zone],
    path: Path,
    people: Iterable[str],
) -> None:
    """Refuse a zone, margin or person that guards nothing, or a zone named like something else.

    Raises:
        GateConfigError: Naming the key, the name and the nearest one.
    """
    middle = (limits.position_low + limits.position_high) / 2
    links = {n for pair in robot.proximities(middle, _ALL_M) for n in (pair.part, pair.other)}
    movable = {thing.name for thing in objects}
    taken = links | movable | {thing.name for thing in fixtures}
    for zone in zones:
        if zone.name in taken:
            raise GateConfigError(f"zones: {zone.name!r} names something else; choose another name")
        taken.add(zone.name)
    followed = [z.follows for z in zones if z.follows]
    for where, names, known in (
        ("checks.path: margins_m", path.margins_m, taken),
        ("checks.separation: people", people, movable),
        ("zones: follows", followed, movable),
    ):
        for name in names:
            if name not in known:
                raise GateConfigError(
                    f"{where}: nothing in the scene is called {name!r}; {nearest(name, known)}"
                )
