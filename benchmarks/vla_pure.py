"""What needs no server: preprocessing, seams under asynchronous inference, broken replies."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from interlock.benchmarks.report import percentiles
from interlock.operators.chunks import Chunk, ChunkPlayer, ChunkSettings, Columns
from interlock.policies.vla.codec import pack, pack_json, unpack, unpack_json
from interlock.policies.vla.errors import ReplyError
from interlock.policies.vla.observation import ObservationBuilder
from interlock.policies.vla.preset_files import load_preset
from interlock.policies.vla.reply import chunk, member
from interlock.policies.vla.robot import PANDA, Snapshot

_MS = 1_000_000


def preprocessing_row(seed: int, n: int = 200) -> dict[str, Any]:
    """Two 640x480 cameras to 224x224 with padding and flip, and the state: pi0.5's observation."""
    rng = np.random.default_rng(seed)
    picture = rng.integers(0, 256, (480, 640, 3), dtype=np.uint8)
    state = {
        "hand_position": np.array([0.5, 0.0, 0.3]),
        "hand_orientation": np.array([0.9, 0.1, 0.2, 0.3]),
        "gripper_width": np.array([0.05]),
    }
    images = {"front": picture, "wrist": picture[::-1].copy()}
    snapshot = Snapshot(id=0, observed_ns=0, state=state, images=images, prompt="x")
    builder = ObservationBuilder(load_preset("openpi/pi05_libero"), PANDA)
    times = []
    for _ in range(n):
        started = time.perf_counter()
        builder.build(snapshot)
        times.append(time.perf_counter() - started)
    return percentiles("preprocessing, 2 x 640x480", times)


def seam_row(seed: int, *, latency_ms: int = 100, seconds: int = 60) -> dict[str, Any]:
    """Asynchronous inference at 20 Hz: ticks without a target, and the largest step at seams.

    Each chunk says another place to be, up to 0.6 away, so every step is the closing of a seam.
    """
    limit = 1.0
    settings = ChunkSettings(strategy="receding_horizon", replan_steps=10, latency_s=0.1)
    player = ChunkPlayer(settings, Columns(), speed=np.array([limit]))
    rng, empty, steps, took = np.random.default_rng(seed), 0, [], []
    asked: tuple[int, Any] | None = None
    last: float | None = None
    for tick in range(seconds * 20):
        now = tick * 50 * _MS
        if asked is not None and now >= asked[0] + latency_ms * _MS:
            sent, ticket = asked
            rows = np.full((50, 1), rng.uniform(-0.3, 0.3))
            new = Chunk(
                rows=rows,
                period_ns=20 * _MS,
                observation_id=ticket.observation_id,
                observed_ns=sent,
                origin=rows[0],
            )
            player.add(ticket, new, now)
            asked = None
        started = time.perf_counter()
        if asked is None and player.wants_chunk(now):
            asked = (now, player.ask(now, tick))
        step = player.next(now)
        took.append(time.perf_counter() - started)
        if step.kind != "play" and last is not None:
            empty += 1
        if step.target is not None:
            if last is not None:
                steps.append(abs(float(step.target[0]) - last))
            last = float(step.target[0])
    name = f"chunks at 20 Hz, {latency_ms} ms latency"
    return percentiles(
        name, took, ticks_without=empty, largest_step=round(max(steps), 5), step_limit=limit * 0.05
    )


def fuzz_rows(n: int, seed: int) -> list[dict[str, Any]]:
    """Break valid replies at random: each is decoded to finite numbers or refused, none crashes."""
    good = {"actions": np.zeros((10, 7), np.float32), "server_timing": {"infer_ms": 0.1}}
    wires = {
        "msgpack, openpi arrays": (pack(good), unpack),
        "msgpack-numpy": (pack(good, "msgpack-numpy"), unpack),
        "msgpack, npy arrays": (pack(good, "npy"), unpack),
        "json-numpy": (pack_json(good), unpack_json),
    }
    return [_fuzz(name, frame, read, n, seed) for name, (frame, read) in wires.items()]


def _fuzz(name: str, frame: bytes, read: Any, n: int, seed: int) -> dict[str, Any]:
    rng, times, refused = np.random.default_rng(seed), [], 0
    for _ in range(n):
        broken = bytearray(frame)
        for at in rng.integers(0, len(frame), rng.integers(1, 6)):
            broken[at] = rng.integers(0, 256)
        cut = bytes(broken[: rng.integers(0, len(frame))] if rng.random() < 0.2 else broken)
        started = time.perf_counter()
        try:
            rows = chunk(member(read(cut), "actions"), field="actions")
            assert np.isfinite(rows).all()
        except ReplyError:
            refused += 1
        times.append(time.perf_counter() - started)
    return percentiles(f"fuzzed {name}", times, refused=refused, crashed=0)
