"""`interlock bench gate`: time per verdict by stage, against scene size and chunk length.

Each row is one process and thread on this machine; times are of the judgement alone, without
messages. ``p50_ms`` and ``p99_ms`` are wall time, ``cpu_p50_ms`` is the thread's own time.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from interlock.benchmarks.report import finish, json_option

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_CONFIG = """
limits: {acceleration_scale: 0.8, jerk_scale: 0.1}
checks:
  data_age: {max_age_ms: 1000, max_state_age_ms: 100}
  joint_range:
  joint_velocity:
  joint_acceleration:
  joint_jerk:
  tracking:
  workspace: {low_m: [-0.1, -0.75, 0.0], high_m: [0.9, 0.75, 1.2]}
  tool_speed: {limit_mps: 1.5}
  gripper:
  path:
  recovery:
"""
_PERSON = "  separation: {people: [person_hand]}\n"
_AMPLITUDE = np.array([0.5, 0.1, 0.0, 0.3, 0.0, 0.1, 0.0])


@click.command("gate")
@click.option("--repeats", default=500, show_default=True, help="Commands per row.")
@json_option
def command(repeats: int, json_file: Path | None) -> None:
    """Time per verdict: one row or chunks, small and large scenes, with and without a person."""
    finish(list(rows(repeats)), json_file=json_file)


def rows(repeats: int) -> Iterator[dict[str, Any]]:
    """Measure every row."""
    yield _row("command", "tabletop", 1, repeats)
    yield _row("command, person", "person", 1, repeats, person=True)
    yield _row("command, 8 objects", "tabletop", 1, repeats, objects=8)
    for chunk in (10, 50):
        yield _row(f"chunk{chunk}", "tabletop", chunk, max(repeats // 10, 30))
    yield _row("chunk50, person", "person", 50, max(repeats // 10, 30), person=True)


def _row(
    name: str, scene: str, chunk: int, repeats: int, *, person: bool = False, objects: int = 2
) -> dict[str, Any]:
    from interlock.benchmarks.suites.gated import Gated
    from interlock.gate import parse_config

    arm = Gated(_scene(scene, objects), parse_config(_CONFIG + (_PERSON if person else "")), seed=0)
    arm.ask("program")
    walls, cpus, stages = [], [], []
    home = arm.world.position
    for k in range(repeats):
        t = (k * (1 if chunk == 1 else 5) + np.arange(1, chunk + 1)) * 0.02
        rows_ = home + _AMPLITUDE * ((1 - np.cos(2 * np.pi * 0.2 * t)) / 2)[:, None]
        wall, cpu = time.perf_counter(), time.thread_time()
        arm.move(rows_, "program")
        walls.append(time.perf_counter() - wall)
        cpus.append(time.thread_time() - cpu)
        stages.append(arm.verdicts[-1].stage_us)
        arm.beat("program")
        arm.advance(1 if chunk == 1 else 5)
    if arm.refused:
        raise click.ClickException(f"{name}: {arm.verdicts[-1].sentence}")
    return {
        "name": name,
        "p50_ms": round(1e3 * float(np.percentile(walls, 50)), 3),
        "p99_ms": round(1e3 * float(np.percentile(walls, 99)), 3),
        "cpu_p50_ms": round(1e3 * float(np.percentile(cpus, 50)), 3),
        "n": repeats,
        **_stages(stages),
    }


def _stages(stages: list[Any]) -> dict[str, float]:
    from interlock.gate.proposal import STAGES

    known = [s for s in stages if len(s)]
    if not known:
        return {}
    medians = np.median(known, axis=0)
    return {f"{n}_us": round(float(m), 1) for n, m in zip(STAGES[2:], medians[2:], strict=True)}


def _scene(name: str, objects: int) -> Any:
    from dataclasses import replace

    from interlock.robots.scene_settings import shipped_scene

    settings = shipped_scene(name)
    if objects <= len(settings.objects):
        return settings
    cup = settings.objects[0]
    more = tuple(
        replace(
            cup, name=f"cup_{i}", position_m=(0.32 + 0.1 * (i % 3), -0.4 + 0.11 * i), region=None
        )
        for i in range(objects)
    )
    return replace(settings, objects=more, tray=None)
