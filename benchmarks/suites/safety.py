"""Buggy programs do harm straight to the driver and none through the Gate; safe ones are let be.

Five bugs: a grasp computed into the table, a place inside a person's zone, a way through that
zone, a sweep past a cup, a place off the table. Beside each a safe program of the same shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from interlock.benchmarks.suites.arena import Vector, reach, smooth, straight
from interlock.benchmarks.suites.arms import Arm, Direct
from interlock.benchmarks.suites.gated import Gated
from interlock.benchmarks.suites.rows import Trial
from interlock.gate import GateConfig, parse_config
from interlock.robots import panda
from interlock.robots.scene_settings import shipped_scene

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.random import Generator

CONFIG = """
limits: {acceleration_scale: 0.8, jerk_scale: 0.1}
checks:
  data_age: {max_age_ms: 1000, max_state_age_ms: 100}
  joint_range:
  joint_velocity:
  joint_acceleration:
  joint_jerk:
  tracking:
  workspace: {low_m: [-0.1, -0.6, 0.0], high_m: [0.88, 0.6, 1.2]}
  gripper:
  path:
  recovery:
zones:
  - {name: person_zone, shape: box, size_m: [0.12, 0.1, 0.3], position_m: [0.52, 0.36, 0.3]}
"""
ZONE_CENTER = np.array([0.52, 0.36, 0.3])
ZONE_HALF = np.array([0.12, 0.1, 0.3])
TABLE_LOW, TABLE_HIGH = np.array([0.0, -0.6]), np.array([0.9, 0.6])
CONTACT_N = 1.0
MOVED_M = 0.003
ARRIVED_M = 0.005
#: Cups stand where no safe program of the other kinds passes.
CUPS = {"cup_red": (0.45, -0.3), "cup_blue": (0.35, 0.12)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Program:
    """Waypoints that a program sends as rows, one per control cycle.

    Attributes:
        legs: Rows of each leg, shape (n, 7); a program whose leg is refused ends there.
        goal: Where the tool should be at the end, in m.
    """

    legs: tuple[Vector, ...]
    goal: Vector


def _approach(place: Vector, height: float, seconds: float) -> tuple[Vector, Vector]:
    above = np.array([place[0], place[1], height])
    return smooth(panda.HOME, reach(above), seconds), above


def table(rng: Generator, *, safe: bool) -> Program:
    """Descend on a place on the table; the bug is a height below its top."""
    place = np.array([rng.uniform(0.4, 0.6), rng.uniform(-0.15, 0.0), 0.0])
    depth = rng.uniform(0.012, 0.06) if safe else -rng.uniform(0.01, 0.04)
    first, above = _approach(place, 0.2, rng.uniform(1.5, 2.5))
    goal = np.array([place[0], place[1], depth])
    legs = (first, straight(above, goal, rng.uniform(1.2, 2.0), first[-1]))
    return Program(legs=legs, goal=goal)


def zone(rng: Generator, *, safe: bool) -> Program:
    """Put something down; the bug is a place inside the person's zone."""
    inside = ZONE_CENTER + rng.uniform(-0.5, 0.5, 3) * ZONE_HALF
    beside = np.array([rng.uniform(0.4, 0.6), rng.uniform(-0.2, 0.02), rng.uniform(0.15, 0.3)])
    goal = beside if safe else inside
    return Program(legs=(smooth(panda.HOME, reach(goal), rng.uniform(2.0, 3.0)),), goal=goal)


def through(rng: Generator, *, safe: bool) -> Program:
    """Cross to the other side; the bug is a straight way through the person's zone."""
    x, height = rng.uniform(0.46, 0.52), rng.uniform(0.2, 0.3)
    start, goal = np.array([x, 0.0, height]), np.array([x, 0.5, height])
    if safe:
        goal = np.array([x, -0.5, height])
    first = smooth(panda.HOME, reach(start), 1.5)
    legs = (first, straight(start, goal, rng.uniform(2.0, 3.0), first[-1]))
    return Program(legs=legs, goal=goal)


def sweep(rng: Generator, *, safe: bool) -> Program:
    """Pass over the cup; the bug is a height at which the hand does not."""
    x, y = CUPS["cup_red"]
    x += rng.uniform(-0.02, 0.02)
    height = rng.uniform(0.2, 0.3) if safe else rng.uniform(0.04, 0.08)
    start, goal = np.array([x, y + 0.2, height]), np.array([x, y - 0.15, height])
    high = np.array([x, y + 0.2, 0.3])
    first = smooth(panda.HOME, reach(high), 2.0)
    down = straight(high, start, 1.2, first[-1])
    legs = (first, down, straight(start, goal, rng.uniform(1.5, 2.5), down[-1]))
    return Program(legs=legs, goal=goal)


def off_table(rng: Generator, *, safe: bool) -> Program:
    """Carry to a place; the bug is one beyond the edge of the table."""
    x = rng.uniform(0.28, 0.34)
    y = -rng.uniform(0.45, 0.55) if safe else -rng.uniform(0.63, 0.66)
    start, goal = np.array([x, 0.0, 0.25]), np.array([x, y, 0.25])
    first = smooth(panda.HOME, reach(start), 1.5)
    legs = (first, straight(start, goal, rng.uniform(2.5, 3.5), first[-1]))
    return Program(legs=legs, goal=goal)


PROGRAMS: dict[str, Callable[..., Program]] = {
    "into the table": table,
    "into a person's zone": zone,
    "a path through the zone": through,
    "a sweep past a cup": sweep,
    "off the table": off_table,
}


def trials(
    *, variants: int = 12, seed: int = 0, config: str = CONFIG, arm: str = "gate"
) -> Iterator[Trial]:
    """Run every program, buggy and safe, in the baseline and through the Gate."""
    gate = parse_config(config)
    for name in PROGRAMS:
        for variant in range(variants):
            yield from _pair(name, variant, seed, gate, arm)


def _pair(name: str, variant: int, seed: int, gate: GateConfig, arm: str) -> Iterator[Trial]:
    for safe in (False, True):
        program = PROGRAMS[name](np.random.default_rng([seed, variant, safe]), safe=safe)
        for made in _arms(gate, arm, seed + variant):
            harm, arrived_m = run(made, program)
            label = arm if isinstance(made, Gated) else made.name
            if safe:
                alarm = bool(made.refused) or not arrived_m <= ARRIVED_M
                yield Trial(suite=name, arm=label, kind="false_alarm", variant=variant, event=alarm)
            yield Trial(
                suite=name,
                arm=label,
                kind="harm_of_safe" if safe else "harm",
                variant=variant,
                event=harm,
            )


def _arms(gate: GateConfig, arm: str, seed: int) -> Iterator[Arm]:
    scene = shipped_scene("tabletop")
    if arm == "gate":
        yield Direct(scene, seed=seed)
    yield Gated(scene, gate, seed=seed)


def run(arm: Arm, program: Program) -> tuple[bool, float]:
    """Run a program; return whether it did harm and how far from its goal it ended, in m."""
    for cup, (x, y) in CUPS.items():
        arm.world.disturbances.put(cup, np.array([x, y, 0.05, 1.0, 0.0, 0.0, 0.0]))
    arm.advance(2)
    arm.ask("program")
    before = arm.world.object_poses()
    arm.world.forces.clear()
    harm = False
    for leg in program.legs:
        for row in leg:
            # The program is buggy, not careful: it sends the next row whatever the answer was.
            arm.beat("program")
            arm.move(row, "program")
            arm.advance()
            harm = harm or _in_zone(arm.world.tool_pose[:3])
    arm.advance(25)
    harm = harm or _harmed(arm, before)
    return harm, float(np.linalg.norm(arm.world.tool_pose[:3] - program.goal))


def _in_zone(tool: Vector) -> bool:
    return bool((np.abs(tool - ZONE_CENTER) < ZONE_HALF).all())


def _harmed(arm: Arm, before: dict[str, Vector]) -> bool:
    after = arm.world.object_poses()
    moved = any(np.linalg.norm(after[n][:3] - before[n][:3]) > MOVED_M for n in before)
    touched = any(force > CONTACT_N for force in arm.world.forces.take_peaks_n().values())
    path = arm.record.path[:, :2]
    off = bool(((path < TABLE_LOW) | (path > TABLE_HIGH)).any())
    return moved or touched or off
