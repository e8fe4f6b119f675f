"""What stopping means: at rest when cancel completes, nothing after it, one writer at a time.

Cancel, set-points after a cancel, a second agent that joins in mid-motion, and an operator's stop
that a program does not want to believe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interlock.benchmarks.suites.arena import (
    CYCLES_PER_S,
    REST_MPS,
    Vector,
    reach,
    smooth,
)
from interlock.benchmarks.suites.arms import Arm, Direct
from interlock.benchmarks.suites.gated import Gated
from interlock.benchmarks.suites.rows import Trial
from interlock.gate import parse_config
from interlock.robots import panda
from interlock.robots.scene_settings import shipped_scene

if TYPE_CHECKING:
    from collections.abc import Iterator

CONFIG = """
limits: {acceleration_scale: 0.8, jerk_scale: 0.1}
checks:
  data_age: {max_age_ms: 1000, max_state_age_ms: 100}
  joint_range:
  joint_velocity:
  joint_acceleration:
  joint_jerk:
  tracking:
  path:
  recovery:
"""
NEAR_GOAL_M = 0.02
#: Longest wait for a cancel to complete, in cycles.
_PATIENCE = 100


def trials(
    *, variants: int = 24, seed: int = 0, config: str = CONFIG, arm: str = "gate"
) -> Iterator[Trial]:
    """Run every situation in the baseline and through the Gate."""
    for variant in range(variants):
        for situation in (cancel, second_agent, operator_stop):
            for made in arms(config, arm, seed + variant):
                label = arm if isinstance(made, Gated) else made.name
                move = move_aside(np.random.default_rng([seed, variant]))
                yield from situation(made, label, variant, move)


def arms(config: str, arm: str, seed: int, lease_ms: int = 200) -> Iterator[Arm]:
    """Yield the arms of an experiment on an empty table."""
    scene = shipped_scene("empty")
    if arm == "gate":
        yield Direct(scene, seed=seed)
    yield Gated(scene, parse_config(config), seed=seed, lease_ms=lease_ms)


def move_aside(rng: np.random.Generator) -> tuple[Vector, Vector, int]:
    """Return the rows of a move to one side, the goal, and the cycle of the interruption."""
    side = rng.choice([-1, 1])
    goal = np.array([rng.uniform(0.4, 0.5), side * rng.uniform(0.3, 0.4), rng.uniform(0.25, 0.35)])
    seconds = rng.uniform(1.5, 2.0)
    rows = smooth(panda.HOME, reach(goal), seconds)
    return rows, goal, int(len(rows) * rng.uniform(0.35, 0.6))


def start(arm: Arm, rows: Vector, cycles: int) -> None:
    """Let a program play its chunk up to a cycle."""
    arm.advance(2)
    arm.ask("first")
    arm.move(rows, "first")
    for _ in range(cycles):
        arm.beat("first")
        arm.advance()


def cancel(arm: Arm, label: str, variant: int, move: tuple[Vector, Vector, int]) -> Iterator[Trial]:
    """Cancel in mid-motion: how fast is the tool when the cancel has completed, and after it?"""
    rows, _, at = move
    start(arm, rows, at)
    returned, waited = arm.cancel("first"), 0
    while not returned and waited < _PATIENCE:
        arm.advance()
        waited += 1
        returned = arm.cancel("first")
    speed = arm.world.tool_speed_m_s
    since = len(arm.record.speed) - 1
    for row in rows[at : at + 25]:
        # The cancelled program has not noticed and goes on.
        arm.move(row, "first")
        arm.advance()
    changed = np.abs(np.diff(arm.record.set_point[since:], axis=0)).max(axis=1) > 1e-9
    yield Trial(
        suite="cancel",
        arm=label,
        kind="moving_when_it_returns",
        variant=variant,
        event=not (returned and speed <= REST_MPS),
        values={"speed_mps": speed, "wait_s": waited / CYCLES_PER_S} | _rest_error(arm),
    )
    yield Trial(
        suite="cancel",
        arm=label,
        kind="set_points_after",
        variant=variant,
        event=bool(changed.any()),
        values={"set_points": float(changed.sum())},
    )


def _rest_error(arm: Arm) -> dict[str, float]:
    """Return how far the measured rest is from the predicted one, in mm."""
    errors = list(arm.gate.rest_errors.errors_m) if isinstance(arm, Gated) else []
    return {"rest_error_mm": 1e3 * max(errors)} if errors else {}


def second_agent(
    arm: Arm, label: str, variant: int, move: tuple[Vector, Vector, int]
) -> Iterator[Trial]:
    """A second agent joins in mid-motion and both stream: how often does the target switch?"""
    rows, _, at = move
    other = smooth(panda.HOME, panda.HOME + np.array([0.0, 0.1, 0, 0.1, 0, 0, 0]), 2.0)
    starts = at if arm.name == "baseline" else len(rows) + 40
    arm.advance(2)
    arm.ask("first")
    for cycle in range(starts + len(other)):
        if cycle < len(rows):
            arm.beat("first")
            arm.move(rows[cycle], "first")
        if cycle == len(rows):
            arm.cancel("first")
        if cycle == at:
            arm.ask("second")
        if cycle == starts:
            # It knows where the arm is, and begins there.
            other = smooth(arm.record.set_point[-1], other[-1], 2.0)
        if cycle > at:
            arm.beat("second")
            if cycle >= starts and arm.granted("second"):
                arm.move(other[cycle - starts], "second")
        arm.advance()
    switches = sum(a != b for a, b in zip(arm.writes, arm.writes[1:], strict=False))
    yield Trial(
        suite="second agent joins",
        arm=label,
        kind="more_than_one_switch",
        variant=variant,
        event=switches > 1,
        values={"switches": float(switches)},
    )


def operator_stop(
    arm: Arm, label: str, variant: int, move: tuple[Vector, Vector, int]
) -> Iterator[Trial]:
    """The operator stops, and the program tries again: does it reach its goal?"""
    rows, goal, at = move
    start(arm, rows, at)
    writes = len(arm.writes)
    arm.stop()
    since = len(arm.record.speed) - 1
    for _ in range(3):
        arm.advance(25)
        arm.ask("first")
        arm.move(smooth(arm.world.position, rows[-1], 1.5), "first")
        arm.advance(85)
    missed = float(np.linalg.norm(arm.world.tool_pose[:3] - goal))
    yield Trial(
        suite="operator stop, program retries",
        arm=label,
        kind="reaches_goal",
        variant=variant,
        event=missed <= NEAR_GOAL_M,
        values={
            "commands_after": float(len(arm.writes) - writes),
            "travel_m": arm.record.travel_m(since),
        },
    )
