"""How fast the simulated robot is: physics steps, cameras, distances, kinematics."""

from __future__ import annotations

import math
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from interlock.benchmarks.report import finish, json_option, percentiles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path


def rows(seed: int, repeats: int) -> Iterator[dict[str, Any]]:
    """Measure everything; each row is of one kind of call, in one process and thread."""
    from interlock.robots.scene import build_scene, scene_obstacles
    from interlock.robots.scene_settings import shipped_scene
    from interlock.robots.world import SimWorld

    settings = shipped_scene("tabletop")
    world = SimWorld(build_scene(settings, seed))
    yield from _steps(world, repeats)
    yield from _cameras(world, max(repeats // 50, 3))
    yield from _kinematics(scene_obstacles(settings, world.layout), seed, repeats)


def _steps(world: Any, repeats: int) -> Iterator[dict[str, Any]]:
    from interlock.robots.physics import mujoco

    bare = _times(lambda: mujoco.mj_step(world.model, world.data), repeats)
    ours = _times(world.step, repeats)
    share = round(float(np.median(bare) / np.median(ours)), 3)
    yield percentiles("mj_step alone", bare)
    yield percentiles("world.step, warnings and forces read", ours, share_of_bare=share)


def _cameras(world: Any, repeats: int) -> Iterator[dict[str, Any]]:
    from interlock.robots.ray_camera import RayCamera

    for name in ("front", "wrist"):
        camera = RayCamera(world.model, name, width=224, height=224)
        yield percentiles(
            f"ray camera {name} 224x224, rgb depth segmentation",
            _times(partial(camera.render, world.data), repeats),
        )


def _kinematics(obstacles: Any, seed: int, repeats: int) -> Iterator[dict[str, Any]]:
    from interlock.robots import kinematics, panda
    from interlock.robots.checker import PandaChecker

    rng = np.random.default_rng(seed)
    checker = PandaChecker(obstacles)
    low, high = panda.LIMITS.position_low, panda.LIMITS.position_high
    positions = rng.uniform(low, high, (repeats, panda.N_JOINTS))
    over_table = [_over_table(rng) for _ in range(repeats)]
    reached = [q for q in (kinematics.inverse(t, panda.HOME) for t in over_table) if q is not None]
    for within_m in (0.03, 0.15):
        yield percentiles(
            f"distances within {within_m} m, over the table",
            _each(partial(checker.proximities, within_m=within_m), reached),
        )
    yield percentiles("forward kinematics", _each(kinematics.forward, positions))
    yield percentiles(
        "inverse, tool down over the table, from home",
        _each(lambda t: kinematics.inverse(t, panda.HOME), over_table),
        solved=round(len(reached) / repeats, 4),
    )
    targets = [kinematics.forward(q) for q in positions]
    found = [kinematics.inverse(t, panda.HOME) is not None for t in targets]
    yield percentiles(
        "inverse, any reachable pose, from home",
        _each(lambda t: kinematics.inverse(t, panda.HOME), targets),
        solved=round(sum(found) / repeats, 4),
    )


def _over_table(rng: np.random.Generator) -> Any:
    yaw = rng.uniform(-1.0, 1.0)
    place = rng.uniform([0.35, -0.3, 0.05], [0.6, 0.3, 0.35])
    return np.array([*place, 0.0, math.cos(yaw / 2), math.sin(yaw / 2), 0.0])


def _times(call: Callable[[], object], repeats: int) -> list[float]:
    return _each(lambda _: call(), range(repeats))


def _each(call: Callable[[Any], object], arguments: Iterable[Any]) -> list[float]:
    times = []
    for argument in arguments:
        start = time.perf_counter()
        call(argument)
        times.append(time.perf_counter() - start)
    return times


@click.command("robots")
@click.option("--seed", default=0, show_default=True, help="Seed of layout and poses.")
@click.option("--repeats", default=1000, show_default=True, type=click.IntRange(min=50))
@json_option
def command(seed: int, repeats: int, json_file: Path | None) -> None:
    """Measure physics steps, cameras, distances and kinematics of the simulated robot."""
    finish(list(rows(seed, repeats)), json_file=json_file, seed=seed)
