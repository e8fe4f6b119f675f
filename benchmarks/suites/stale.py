"""A person's hand and a sensor that sees it, or does not: silent, or with gaps.

The arm moves to and fro. In one row the sensor falls silent and the hand comes into the way; in
the other the sensor drops out for 0.3 s in each second while the hand rests 0.8 m away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interlock.benchmarks.suites.arena import CYCLES_PER_S, Vector, reach, smooth
from interlock.benchmarks.suites.arms import Arm, Direct
from interlock.benchmarks.suites.gated import Gated
from interlock.benchmarks.suites.rows import Trial
from interlock.gate import parse_config
from interlock.robots import panda
from interlock.robots.scene_settings import shipped_scene

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
  separation: {people: [person_hand], person_speed_mps: 1.6, required: true}
"""
CONTACT_N = 1.0
_TURN = np.array([0.0, 1.0, 0.0, 0.0])
_HAND = "person_hand"
_MOVE_S = 1.5
_LASTS_S = 9.0
_SILENT_LASTS_S = 6.0
_DROPPED_S = 0.3


def trials(
    *, variants: int = 12, seed: int = 0, config: str = CONFIG, arm: str = "gate"
) -> Iterator[Trial]:
    """Run both situations in the baseline and through the Gate."""
    for variant in range(variants):
        for situation in (silent, dropouts):
            for made in _arms(config, arm, seed + variant):
                label = arm if isinstance(made, Gated) else made.name
                yield situation(made, label, variant, np.random.default_rng([seed, variant]))


def _arms(config: str, arm: str, seed: int) -> Iterator[Arm]:
    scene = shipped_scene("person")
    if arm == "gate":
        yield Direct(scene, seed=seed)
    yield Gated(scene, parse_config(config), seed=seed)


def silent(arm: Arm, label: str, variant: int, rng: np.random.Generator) -> Trial:
    """The sensor falls silent and the hand moves to the end that the arm will go to next."""
    ends = _ends(rng)
    away = np.array([0.85, 0.75, 0.3])
    silent_at = int(rng.uniform(1.4, 3.0) * CYCLES_PER_S)
    arrives_at = silent_at + int(0.8 * CYCLES_PER_S)
    into: list[Vector] = []

    def hand(cycle: int) -> Vector:
        if cycle >= silent_at and not into:
            tool = arm.world.tool_pose[:3]
            into.append(max(ends, key=lambda end: float(np.linalg.norm(end - tool))))
        share = np.clip((cycle - silent_at) / (arrives_at - silent_at), 0.0, 1.0)
        return np.asarray(away + share * (into[0] - away)) if into else away

    arm.world.forces.clear()
    cycles = int(_SILENT_LASTS_S * CYCLES_PER_S)
    moves = _to_and_fro(arm, ends, hand, lambda cycle: cycle < silent_at, cycles)
    force = arm.world.forces.take_peaks_n().get(_HAND, 0.0)
    return Trial(
        suite="hand sensor silent, hand moves into the path",
        arm=label,
        kind="contact",
        variant=variant,
        event=force > CONTACT_N,
        values={"force_n": force, "moves": moves, "stands_mps": arm.record.speed[-1]},
    )


def dropouts(arm: Arm, label: str, variant: int, rng: np.random.Generator) -> Trial:
    """The sensor drops out 0.3 s in each second; the hand rests at 0.8 m."""
    ends = _ends(rng)
    rests = ends[1] + np.array([0.0, 0.8, 0.0])
    phase = rng.uniform(0.0, 1.0)

    def visible(cycle: int) -> bool:
        return (cycle / CYCLES_PER_S + phase) % 1.0 >= _DROPPED_S

    cycles = int(_LASTS_S * CYCLES_PER_S)
    moves = _to_and_fro(arm, ends, lambda _: rests, visible, cycles)
    force = arm.world.forces.take_peaks_n().get(_HAND, 0.0)
    return Trial(
        suite="hand sensor drops out, hand rests at 0.8 m",
        arm=label,
        kind="contact",
        variant=variant,
        event=force > CONTACT_N,
        values={"moves": moves, "force_n": force},
    )


def _ends(rng: np.random.Generator) -> tuple[Vector, Vector]:
    x, height = rng.uniform(0.38, 0.44), rng.uniform(0.3, 0.4)
    return np.array([x, -0.3, height]), np.array([x, 0.3, height])


def _to_and_fro(
    arm: Arm,
    ends: tuple[Vector, Vector],
    hand: Callable[[int], Vector],
    seen: Callable[[int], bool],
    cycles: int,
) -> float:
    """Let a program move to and fro; it waits while it is refused. Return its moves."""
    goals = (reach(ends[0]), reach(ends[1]))
    arm.world.disturbances.move_person(np.concatenate([hand(0), _TURN]))
    arm.advance(2)
    arm.ask("program")
    rows, index, side, done = smooth(panda.HOME, goals[0], _MOVE_S), 0, 0, -1
    for cycle in range(cycles):
        arm.world.disturbances.move_person(np.concatenate([hand(cycle), _TURN]))
        arm.visible = (lambda _: True) if seen(cycle) else (lambda name: name != _HAND)
        arm.beat("program")
        taken = arm.move(rows[index], "program")
        arm.advance()
        index += 1
        if taken and index == len(rows):
            done, side, taken = done + 1, 1 - side, False
        if not taken:
            # Arrived, or refused: begin from where the arm is.
            rows, index = smooth(_commanded(arm), goals[side], _MOVE_S), 0
    return float(max(done, 0))


def _commanded(arm: Arm) -> Vector:
    return np.array(arm.record.set_point[-1])
