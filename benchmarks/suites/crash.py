"""What happens to the arm when the agent, or the Gate, dies or freezes in mid-motion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interlock.benchmarks.suites.gated import Gated
from interlock.benchmarks.suites.rows import Trial
from interlock.benchmarks.suites.stopping import CONFIG, NEAR_GOAL_M, arms, move_aside, start

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interlock.benchmarks.suites.arena import Vector
    from interlock.benchmarks.suites.arms import Arm

#: What must not be exceeded: travel in m, time to rest in s.
TRAVEL_M, REST_S, FROZEN_REST_S, GATE_REST_S = 0.03, 0.30, 0.5, 0.4


def trials(
    *,
    variants: int = 24,
    seed: int = 0,
    config: str = CONFIG,
    arm: str = "gate",
    lease_ms: int = 200,
) -> Iterator[Trial]:
    """Run every failure in the baseline and through the Gate."""
    for variant in range(variants):
        for situation in (agent_killed, agent_frozen, gate_killed):
            for made in arms(config, arm, seed + variant, lease_ms):
                if situation is gate_killed and not isinstance(made, Gated):
                    continue
                label = arm if isinstance(made, Gated) else made.name
                move = move_aside(np.random.default_rng([seed, variant]))
                yield situation(made, label, variant, move)


def agent_killed(arm: Arm, label: str, variant: int, move: tuple[Vector, Vector, int]) -> Trial:
    """The agent's process is gone: its connection closes."""
    rows, goal, at = move
    start(arm, rows, at)
    arm.died("first")
    return _outcome(arm, "agent killed", label, variant, goal, TRAVEL_M, REST_S)


def agent_frozen(arm: Arm, label: str, variant: int, move: tuple[Vector, Vector, int]) -> Trial:
    """The agent hangs with its connection open: no heartbeat comes any more."""
    rows, goal, at = move
    start(arm, rows, at)
    return _outcome(arm, "agent frozen", label, variant, goal, 1.0, FROZEN_REST_S)


def gate_killed(arm: Arm, label: str, variant: int, move: tuple[Vector, Vector, int]) -> Trial:
    """The Gate is gone while an agent streams rows: the driver has the last verified stop."""
    rows, goal, at = move
    arm.advance(2)
    arm.ask("first")
    for row in rows[:at]:
        arm.beat("first")
        arm.move(row, "first")
        arm.advance()
    assert isinstance(arm, Gated)
    arm.gate_alive = False
    return _outcome(arm, "Gate killed", label, variant, goal, TRAVEL_M, GATE_REST_S)


def _outcome(
    arm: Arm, suite: str, label: str, variant: int, goal: Vector, travel_m: float, rest_s: float
) -> Trial:
    since = len(arm.record.speed) - 1
    speed = arm.world.tool_speed_m_s
    arm.advance(120)
    short = float(np.linalg.norm(arm.world.tool_pose[:3] - goal)) > NEAR_GOAL_M
    travelled, rested = arm.record.travel_m(since), arm.record.rest_s(since)
    return Trial(
        suite=suite,
        arm=label,
        kind="moves_on",
        variant=variant,
        event=not (travelled <= travel_m and rested <= rest_s and short),
        values={"speed_mps": speed, "travel_m": travelled, "rest_s": rested},
    )
