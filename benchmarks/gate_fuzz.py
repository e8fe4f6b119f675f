"""`interlock bench gate-fuzz`: mutated commands to the Gate, mutated sealed commands to the driver.

Every frame begins as a good one and is damaged: a field of another type or shape, NaN and
infinities, flipped bits in its numbers, a random seal, a replay. Counted are exceptions, admitted
commands that break a limit of the robot, and driver frames that were taken although they were
damaged.
"""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from interlock.benchmarks.report import finish, json_option, percentiles
from interlock.messages import AdmittedCommand, Command

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.random import Generator

_JUNK: tuple[Any, ...] = (
    None, True, -1, 0, 2**63, -(2**70), 1.5, float("nan"), float("inf"), "", "x" * 500, b"\x00",
    [], {}, (), object(), np.zeros(0), np.zeros((1, 6)), np.zeros((2, 7, 1)),
    np.full((1, 7), np.nan), np.zeros((1, 7), np.float32), np.array([["x"] * 7]),
    np.array([[None] * 7], dtype=object),
)  # fmt: skip


@click.command("gate-fuzz")
@click.option("--frames", default=1_000_000, show_default=True, help="Frames, half for each.")
@click.option("--seed", default=0, show_default=True)
@json_option
def command(frames: int, seed: int, json_file: Path | None) -> None:
    """Damage commands in every way and count what should never happen."""
    finish([gate(frames // 2, seed), driver(frames // 2, seed)], json_file=json_file, seed=seed)


def gate(frames: int, seed: int) -> dict[str, Any]:
    """Return what became of damaged commands at the Gate."""
    from interlock.benchmarks.gate import _CONFIG
    from interlock.benchmarks.suites.gated import Gated
    from interlock.gate import parse_config
    from interlock.robots.scene_settings import shipped_scene

    config = dataclasses.replace(parse_config(_CONFIG), max_rate_hz=10_000.0)
    arm = Gated(shipped_scene("tabletop"), config, seed=seed)
    rng = np.random.default_rng(seed)
    counts = {"admitted": 0, "broken": 0, "crashes": 0}
    times = []
    for _ in _cycles(frames, 10):
        if not arm.granted("fuzz"):
            arm.ask("fuzz")
        arm.beat("fuzz")
        good = _good(arm, rng)
        for _ in range(10):
            frame = _damaged(good, rng)
            began = time.perf_counter()
            try:
                before = arm.sent
                arm.judge(frame, "fuzz")
            except Exception:
                counts["crashes"] += 1
            times.append(time.perf_counter() - began)
            if arm.newest is not None and arm.sent > before:
                counts["admitted"] += 1
                counts["broken"] += _breaks_a_limit(arm.newest)
        arm.advance()
    return percentiles("gate", times, **counts)


def driver(frames: int, seed: int) -> dict[str, Any]:
    """Return what became of damaged sealed commands at the driver."""
    from interlock.gate.driver_port import DriverPort
    from interlock.gate.seal import seal
    from interlock.robots import panda

    key, rng = b"k" * 32, np.random.default_rng(seed)
    port = DriverPort(key, run="fuzz", position=panda.HOME)
    counts = {"admitted": 0, "broken": 0, "crashes": 0}
    times = []
    for number in range(frames):
        still = np.zeros((3, 7))
        good = seal(
            AdmittedCommand(
                run="fuzz", number=number, task="t", start_ns=number, continues=-1,
                period_ns=10_000_000, position=np.repeat(panda.HOME[None], 3, 0), velocity=still,
                acceleration=still, stop_index=0,
            ),
            key,
        )  # fmt: skip
        frame = _damaged(good, rng)
        began = time.perf_counter()
        try:
            taken = port.accept(frame, number) is None
        except Exception:
            counts["crashes"] += 1
            taken = False
        times.append(time.perf_counter() - began)
        counts["admitted"] += taken
        counts["broken"] += taken and not _same(frame, good)
        if taken:
            port.restart_at(panda.HOME)
    return percentiles("driver", times, **counts)


def _good(arm: Any, rng: Generator) -> Command:
    rows = int(rng.choice([1, 1, 1, 5]))
    start = np.array(arm.record.set_point[-1]) if arm.record.set_point else arm.world.position
    steps = np.cumsum(rng.normal(0, 0.003, (rows, 7)), axis=0)
    return Command(
        task=arm.token("fuzz"), space="joint", targets=start + steps, period_ns=20_000_000
    )


def _damaged(good: Any, rng: Generator) -> Any:
    """Return a copy with one to three of its fields damaged."""
    names = [f.name for f in dataclasses.fields(good)]
    changes = {}
    for name in rng.choice(names, int(rng.integers(1, 4)), replace=False):
        changes[str(name)] = _damage(getattr(good, str(name)), rng)
    return dataclasses.replace(good, **changes)


def _damage(value: Any, rng: Generator) -> Any:
    if rng.random() < 0.5:
        return _JUNK[int(rng.integers(len(_JUNK)))]
    if isinstance(value, np.ndarray) and value.size:
        raw = bytearray(np.ascontiguousarray(value).tobytes())
        for _ in range(int(rng.integers(1, 4))):
            raw[int(rng.integers(len(raw)))] ^= 1 << int(rng.integers(8))
        return np.frombuffer(bytes(raw), value.dtype).reshape(value.shape)
    if isinstance(value, str):
        return value[::-1] + "0"
    if isinstance(value, int | float):
        return type(value)(value * float(rng.normal(0, 10)))
    return value


def _breaks_a_limit(motion: AdmittedCommand) -> bool:
    from interlock.robots.panda import LIMITS

    q, v, a = motion.position, motion.velocity, motion.acceleration
    inside = (q >= LIMITS.position_low - 1e-6).all() and (q <= LIMITS.position_high + 1e-6).all()
    slow = (np.abs(v) <= LIMITS.velocity + 1e-6).all()
    soft = (np.abs(a) <= LIMITS.acceleration + 1e-6).all()
    return not (inside and slow and soft and not v[-1].any())


def _same(frame: Any, good: Any) -> bool:
    pairs = [(getattr(frame, f.name), getattr(good, f.name)) for f in dataclasses.fields(good)]
    return all(
        np.array_equal(a, b) if isinstance(b, np.ndarray) else type(a) is type(b) and a == b
        for a, b in pairs
    )


def _cycles(frames: int, per_cycle: int) -> Iterator[int]:
    return iter(range(max(1, frames // per_cycle)))
