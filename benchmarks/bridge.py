"""Round trips over the robot bridge, batches, recording, and the peer beside us.

Every figure has its floor beside it: the smallest server that could answer, in the same run. Rows
of the peer need an environment with ``hud[robot]``; without it they carry the reason.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from interlock.benchmarks import wire_load
from interlock.benchmarks.bridge_gate import gated_server
from interlock.benchmarks.bridge_hard import fuzz, kill_9
from interlock.benchmarks.bridge_hud import hud_drives, hud_server
from interlock.benchmarks.report import finish, json_option
from interlock.operators.lerobot_dataset import DatasetWriter
from interlock.policies.robot import BatchedAgent, FunctionModel, RobotAgent, Shared, run_trials
from interlock.robots.bridge import RobotEndpoint, gym

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_ENVIRONMENT = Path(wire_load.__file__).with_name("bridge_env.py")
_HUD = os.environ.get("INTERLOCK_HUD_PYTHON", "(unset)")
_MODEL_S, _QUICK_MODEL_S = 0.02, 0.003
_ROUNDS = 3


@click.command()
@click.option("--steps", default=1500, show_default=True, help="Round trips per row and round.")
@click.option("--hud", default=_HUD, show_default=True, help="Python with hud[robot].")
@click.option("--frames", default=20_000, show_default=True, help="Mutated frames to send.")
@click.option("--only", multiple=True, help="Rows to measure; all of them by default.")
@json_option
def command(
    steps: int, frames: int, hud: str, only: tuple[str, ...], json_file: Path | None
) -> None:
    """Measure the bridge: rates, latency, batches, recording, the peer."""
    rows: list[dict[str, Any]] = []
    jobs = _jobs(steps, frames, Path(hud))
    for name in only or jobs:
        if name not in jobs:
            raise click.UsageError(f"no row {name!r}; rows: {', '.join(jobs)}")
        try:
            rows.append({"name": name, **jobs[name]()})
        except Exception as error:
            rows.append({"name": name, "reason": f"{type(error).__name__}: {error}"[:200]})
    finish(rows, json_file=json_file, seed=0, packages=("gymnasium", "av"))


def _jobs(steps: int, frames: int, hud: Path) -> dict[str, Callable[[], dict[str, Any]]]:
    return {
        "floor": lambda: _floor(steps),
        "1x1": lambda: _ours(1, steps),
        "4x4": lambda: _ours(4, steps),
        "8x8": lambda: _ours(8, steps),
        "with_gate": lambda: _gated(steps),
        "1x1_over_floor": lambda: _over_floor(steps),
        "hud_1x1": lambda: _hud(hud, 1, steps),
        "hud_1x1_own_client": lambda: _hud_alone(hud, steps // 4),
        "hud_4x4": lambda: _hud(hud, 4, steps),
        "hud_8x8": lambda: _hud(hud, 8, steps),
        "hud_client_here": lambda: _hud_client(hud, steps),
        "batch4": lambda: _batch(4),
        "batch8": lambda: _batch(8),
        "rollout": lambda: _rollout(recording=False),
        "rollout_recording": lambda: _rollout(recording=True),
        "kill_9": kill_9,
        "fuzz": lambda: fuzz(frames),
    }


def _serve(slots: int) -> RobotEndpoint:
    if slots == 1:
        return gym(f"{_ENVIRONMENT}:make_arm")
    return gym(f"{_ENVIRONMENT}:make_arms", num_envs=slots, batched=True)


def _ours(slots: int, steps: int) -> dict[str, Any]:
    with _serve(slots) as robot:
        tokens = [robot.reset()["token"] for _ in range(slots)]
        return _best(robot.url, tokens, steps, robot.pid)


def _gated(steps: int) -> dict[str, Any]:
    with gated_server() as (url, token, pid):
        return _best(url, [token], steps, pid)


def _best(url: str, tokens: list[Any], steps: int, pid: int) -> dict[str, Any]:
    """Return the median round by rate, and processor time over all of them."""
    before_s, rounds = wire_load.cpu_s(pid), []
    each = max(100, steps // len(tokens))
    for _ in range(_ROUNDS):
        rounds.append(wire_load.drive(url, tokens, steps=each, warm=20))
    used_ms = (wire_load.cpu_s(pid) - before_s) * 1e3
    load = sorted(rounds, key=lambda r: r.per_s)[_ROUNDS // 2]
    trips = _ROUNDS * (each + 20) * len(tokens)
    return {
        "per_s": round(load.per_s, 1),
        "p50_ms": round(load.p50_ms, 3),
        "p99_ms": round(load.p99_ms, 3),
        "server_cpu_ms": round(used_ms / trips, 3),
    }


@contextlib.contextmanager
def _floor_server() -> Iterator[tuple[str, int]]:
    context = multiprocessing.get_context("spawn")
    queue: Any = context.Queue()
    child = context.Process(target=wire_load.serve_floor, args=(queue.put,), daemon=True)
    child.start()
    try:
        yield queue.get(timeout=30), int(child.pid or 0)
    finally:
        child.kill()
        child.join()


def _floor(steps: int) -> dict[str, Any]:
    with _floor_server() as (url, pid):
        return _best(url, [None], steps, pid)


def _over_floor(steps: int) -> dict[str, Any]:
    """Alternate floor and bridge, so that a busy machine slows both: the ratio is the figure."""
    ratios = []
    with _floor_server() as (floor, _), _serve(1) as robot:
        token = robot.reset()["token"]
        for _ in range(2 * _ROUNDS):
            lowest = wire_load.drive(floor, [None], steps=steps // 4)
            ours = wire_load.drive(robot.url, [token], steps=steps // 4)
            ratios.append(ours.per_s / lowest.per_s)
    return {"ratio": round(float(np.median(ratios)), 3)}


def _hud(python: Path, slots: int, steps: int) -> dict[str, Any]:
    with hud_server(python, slots) as served:
        return _best(served["url"], served["tokens"], steps, served["pid"])


def _hud_alone(python: Path, steps: int) -> dict[str, Any]:
    """Measure the peer as it comes: its client, its server, its defaults."""
    with hud_server(python, 1) as served:
        return hud_drives(python, served["url"], served["tokens"][0], steps)


def _hud_client(python: Path, steps: int) -> dict[str, Any]:
    with _serve(1) as robot:
        return hud_drives(python, robot.url, robot.reset()["token"], steps)


def _batch(callers: int, steps: int = 150) -> dict[str, Any]:
    """Return ticks per second of each of several rollouts on one model that takes 20 ms."""

    def think(batch: Mapping[str, Any]) -> Any:
        time.sleep(_MODEL_S)
        return np.zeros((len(batch["observation/state"]), 1, 7), np.float32)

    taken_s: list[float] = []

    class Timed(RobotAgent):
        def should_stop(self, observation: Any, step: int) -> bool:
            taken_s.append(time.perf_counter())
            return super().should_stop(observation, step)

    agent = Timed(FunctionModel(think, batchable=True), max_steps=steps)

    async def run() -> float:
        async with Shared(_serve(callers), width=callers) as shared:
            with BatchedAgent(agent) as batched:
                results = await run_trials(shared, batched, {str(i): {} for i in range(callers)})
                assert all("error" not in r for r in results.values()), results
                return float(np.mean(batched.widths))

    width = asyncio.run(run())
    return {
        "per_s": round(steps / (taken_s[-1] - taken_s[0]), 1),
        "mean_width": round(width, 2),
    }


def _rollout(*, recording: bool, steps: int = 600) -> dict[str, Any]:
    """Run a whole rollout on a model that takes 3 ms, with and without a recorder."""
    times_s: list[float] = []

    class Timed(RobotAgent):
        def should_stop(self, observation: Any, step: int) -> bool:
            times_s.append(time.perf_counter())
            return super().should_stop(observation, step)

    def think(seen: Mapping[str, Any]) -> Any:
        time.sleep(_QUICK_MODEL_S)
        return np.zeros(7, np.float32)

    agent = Timed(FunctionModel(think), max_steps=steps)
    with _serve(1) as robot, tempfile.TemporaryDirectory() as folder:
        contract = robot.contract()
        with contextlib.ExitStack() as stack:
            recorder = None
            if recording:
                writer = stack.enter_context(DatasetWriter(Path(folder) / "set", contract))
                recorder = writer.episode("move the arm")
            token = robot.reset()["token"]
            asyncio.run(agent.run(robot.url, contract, token=token, recorder=recorder))
    load = wire_load.summary(list(np.diff(times_s)), times_s[-1] - times_s[0])
    return {
        "per_s": round(load.per_s, 1),
        "p50_ms": round(load.p50_ms, 3),
        "p99_ms": round(load.p99_ms, 3),
    }


if __name__ == "__main__":
    sys.exit(command())
