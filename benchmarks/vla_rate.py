"""Is the control rate held while a server thinks for 200 ms? Ticks of a pilot in real time."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import numpy as np

from interlock.benchmarks.report import percentiles
from interlock.policies.vla.asker import Asker
from interlock.policies.vla.client import PolicyClient
from interlock.policies.vla.pilot import Pilot
from interlock.policies.vla.preset_files import load_preset
from interlock.policies.vla.robot import PANDA, Snapshot
from interlock.policies.vla.servers.behaviour import Scripted
from interlock.policies.vla.servers.faults import Faults
from interlock.policies.vla.servers.stand import Stand, serving

PERIOD_S = 0.02
THINKING_S = 0.2


class _Thinker(Scripted):
    """A policy that needs its time, every time."""

    def act(self, observation: Any, request: int) -> Any:
        """Think, then answer."""
        time.sleep(THINKING_S)
        return super().act(observation, request)


def rate_row(seconds: float, seed: int) -> dict[str, Any]:
    """Return how late 50 Hz ticks are, and how many had no target, with 200 ms inference."""
    rng = np.random.default_rng(seed)
    picture = rng.integers(0, 256, (480, 640, 3), dtype=np.uint8)
    state = {
        "joint_position": np.array([0.0, -0.3, 0.0, -2.2, 0.0, 2.0, 0.8]),
        "gripper_width": np.array([0.08]),
    }
    seen = Snapshot(id=0, observed_ns=0, state=state, images={"front": picture, "top": picture})
    stand = Stand(kind="openpi", behaviour=_Thinker(horizon=20), faults=Faults())
    with serving(stand) as url:
        preset = load_preset("interlock/panda", environment={"INTERLOCK_VLA_URL": url})
        asker = Asker(lambda: PolicyClient(preset.wire))
        pilot = Pilot(preset, PANDA, asker)
        while not pilot.get_ready(seen, "bench", time.monotonic_ns()):
            time.sleep(0.01)
        late, without = _fly(pilot, seen, seconds)
        asker.close()
    name = "50 Hz ticks, 200 ms inference: lateness"
    return percentiles(name, late, ticks_without=without, chunks=pilot.player.counts.chunks)


def _fly(pilot: Pilot, seen: Snapshot, seconds: float) -> tuple[list[float], int]:
    late, without, started = [], 0, time.monotonic()
    for tick in range(1, round(seconds / PERIOD_S)):
        due = started + tick * PERIOD_S
        time.sleep(max(0.0, due - time.monotonic()))
        now_ns = time.monotonic_ns()
        snapshot = dataclasses.replace(seen, id=tick, observed_ns=now_ns)
        step = pilot.step(snapshot, now_ns)
        # Lateness of the target, not of the wake-up: the step is part of it.
        late.append(time.monotonic() - due)
        if step.kind != "play" and pilot.player.counts.chunks:
            without += 1
    return late, without
