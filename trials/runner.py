"""Run one trial from its plan to its signed folder. This file reads the clock.

Everything that can be known before the world starts is checked by `preflight`. What goes wrong
afterwards and is not the agent's doing is an exception in the result, and is not scored.
"""

from __future__ import annotations

import importlib
import os
import re
import shutil
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlock.messages.errors import InterlockError
from interlock.trials.episode import STOPPED, Episode
from interlock.trials.episode_thread import EpisodeThread
from interlock.trials.errors import InvalidSetupError, PreflightError
from interlock.trials.harness import Launcher, Player, make_harness
from interlock.trials.player_run import AgentEnd, run_player
from interlock.trials.recorder import Recorder, preflight_video
from interlock.trials.robo_server import RoboServer
from interlock.trials.task import Instance, instantiate
from interlock.trials.trial_folder import write_config, write_result
from interlock.trials.worlds import make_world

if TYPE_CHECKING:
    from interlock.trials.judgement import Verdict
    from interlock.trials.plan import Plan

#: Status of trials that somebody ended, by the exception in their result.
UNSCORED = {"Cancelled": "cancelled", "Stopped": "stopped"}


def preflight(plan: Plan) -> tuple[Player | Launcher, Instance]:
    """Check everything that needs no world: harness, model, files, sandbox, credentials.

    Raises:
        PreflightError: The first thing that would spoil the trial, and the way out.
    """
    harness = make_harness(plan.harness)
    harness.preflight(plan)
    instance = instantiate(plan.task, seed=plan.seed)
    if isinstance(harness, Launcher):
        _preflight_launcher(plan, harness)
    plan.policy_text()
    preflight_video(plan.video)
    return harness, instance


def run_trial(plan: Plan) -> dict[str, Any]:
    """Run a trial and return its signed result.

    Raises:
        PreflightError: If it cannot start; then nothing was written.
        KeyboardInterrupt: After the folder was kept as cancelled.
    """
    clock = _Stages()
    harness, instance = preflight(plan)
    clock.mark("preflight")
    world = make_world(plan.task.world)
    folder = plan.out / plan.name()
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="interlock-") as scratch:
        started_s = time.monotonic()
        episode = Episode(instance, world, started_s=started_s)
        thread = EpisodeThread(episode, log=folder / "requests.jsonl", started_s=started_s)
        write_config(folder, plan, instance, {"sandbox": _walls(plan, harness)})
        server = RoboServer(Path(scratch) / "robo.sock", thread)
        door = _door(plan, thread)
        recorder = _record(plan, world, thread, folder)
        thread.start()
        clock.mark("world")
        end = _act(plan, instance, harness, thread, Path(scratch), folder)
        clock.mark("agent")
        door.close()
        server.close()
        verdict = _judge(thread, episode, end)
        clock.mark("judge")
        film = recorder.finish() if recorder is not None else None
        clock.mark("video")
    world.close()
    result = _result(plan, thread, verdict, end, clock) | {"film": film}
    signed = write_result(folder, result)
    if end.exception and end.exception["type"] == "Cancelled":
        raise KeyboardInterrupt
    return signed


def _door(plan: Plan, thread: EpisodeThread) -> Any:
    """Open the operator's door: `interlock stop` ends this trial."""
    # The Gate's socket is above this room: it is found by its name.
    door = importlib.import_module("interlock.nodes._stop_door").StopDoor
    name = f"trial-{os.getpid()}-{re.sub(r'[^A-Za-z0-9_.-]', '-', plan.key)[:24]}"
    try:
        return door(name, thread.stop, lambda: thread.outcome or "runs")
    except OSError as error:
        raise PreflightError(
            f"no door for the operator's stop: {error}. Let XDG_RUNTIME_DIR name a folder of "
            "yours with a short path"
        ) from error


def _record(plan: Plan, world: Any, thread: EpisodeThread, folder: Path) -> Recorder | None:
    if plan.video is None:
        return None
    period_s = world.info().period_s
    recorder = Recorder(world, plan.video, folder / "video.mp4", period_s=period_s)
    thread.on_step = recorder.after_step
    return recorder


def _preflight_launcher(plan: Plan, harness: Launcher) -> None:
    from interlock.trials.egress import parse_hosts
    from interlock.trials.gateway import needs_gateway, preflight_gateway
    from interlock.trials.sandbox import preflight_sandbox

    preflight_sandbox(plan.sandbox)
    parse_hosts(plan.allow_hosts)
    if needs_gateway(plan, harness):
        preflight_gateway(plan, harness)


def _walls(plan: Plan, harness: Player | Launcher) -> str:
    if not isinstance(harness, Launcher):
        return "none"
    from interlock.trials.sandbox import sandbox_name

    return sandbox_name(plan.sandbox)


def _act(
    plan: Plan,
    instance: Instance,
    harness: Player | Launcher,
    thread: EpisodeThread,
    scratch: Path,
    folder: Path,
) -> AgentEnd:
    try:
        if isinstance(harness, Launcher):
            from interlock.trials.agent_run import run_agent

            return run_agent(plan, instance, harness, thread, scratch=scratch, folder=folder)
        return run_player(plan, harness, thread, socket=scratch / "robo.sock")
    except KeyboardInterrupt:
        return AgentEnd.failed("Cancelled", "stopped by Ctrl-C")
    except InvalidSetupError as error:
        return AgentEnd.failed("InvalidSetup", str(error))
    except (InterlockError, OSError) as error:
        return AgentEnd.failed(type(error).__name__, str(error))


def _judge(thread: EpisodeThread, episode: Episode, end: AgentEnd) -> Verdict | None:
    if thread.outcome is None:
        thread.end("invalid" if end.exception else "agent_exited")
    try:
        verdict = thread.close()
    except InterlockError as error:
        end.exception = {"type": "WorldError", "message": str(error)}
        return None
    if verdict.outcome == STOPPED:
        end.exception = {"type": "Stopped", "message": f"stopped {verdict.text}"}
        end.agent["stop"] = episode.halted
    return verdict


def _result(
    plan: Plan, thread: EpisodeThread, verdict: Verdict | None, end: AgentEnd, clock: _Stages
) -> dict[str, Any]:
    scored = end.exception is None and verdict is not None
    kind = (end.exception or {}).get("type", "")
    return {
        "trial": plan.name(),
        "key": plan.key,
        "status": "completed" if scored else UNSCORED.get(kind, "error"),
        "reward": float(verdict.success) if scored and verdict else None,
        "outcome": verdict.outcome if verdict else "invalid",
        "steps": verdict.steps if verdict else 0,
        "max_steps": plan.task.max_steps,
        "wall_s": round(clock.total(), 3),
        "exception": end.exception,
        "verdict": asdict(verdict) if verdict else None,
        "requests": thread.requests,
        "stages_s": clock.stages,
        "agent": end.agent,
        "usage": end.usage,
    }


class _Stages:
    """How long each stage took, in s."""

    def __init__(self) -> None:
        self.stages: dict[str, float] = {}
        self._start = self._last = time.monotonic()

    def mark(self, name: str) -> None:
        now = time.monotonic()
        self.stages[name] = round(now - self._last, 4)
        self._last = now

    def total(self) -> float:
        return time.monotonic() - self._start
