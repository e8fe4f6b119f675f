"""Small tasks, and an episode behind its real socket."""

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from interlock.trials.cubepick import CubePick
from interlock.trials.episode import Episode
from interlock.trials.episode_thread import EpisodeThread
from interlock.trials.errors import PreflightError
from interlock.trials.robo_server import RoboServer
from interlock.trials.sandbox import preflight_sandbox
from interlock.trials.scenario import Vector
from interlock.trials.task import Task, instantiate, parse_task

FRONT = """\
title: Move a cube
world: cubepick
max_steps: 200
skills: [pick, place]
scenario: {objects: {cube: {position_m: [0.2, 0.1, 0.02]}, \
block: {position_m: [-0.2, -0.1, 0.02]}}, zones: {pad: {centre_m: [-0.2, 0.2, 0.0]}}}
success: [{inside: {object: cube, zone: pad}}]
solution: [skill pick cube, skill place pad, done]
"""


def make_task(front: str = FRONT, **changes: str) -> Task:
    """Return a task; a change replaces or adds a line ``key: value`` of the front matter."""
    for key, value in changes.items():
        rows = [row for row in front.splitlines() if not row.startswith(f"{key}:")]
        front = "\n".join([*rows, f"{key}: {value}"]) + "\n"
    text = f"---\n{front}---\nPut the cube onto the pad.\n"
    return parse_task(text, id="move", suite="test", where="move.md")


def why_no_walls() -> str:
    """Return why no sandbox works on this machine; "" if one does."""
    try:
        preflight_sandbox(True)
    except PreflightError as error:
        return str(error)
    return ""


class SlowPick(CubePick):
    """The flat world at the pace of a real one: 1 ms a control step."""

    def _step(self, hand_m: Vector, grip_open: float) -> None:
        time.sleep(0.001)
        super()._step(hand_m, grip_open)


class Served:
    """An episode behind its real socket."""

    def __init__(self, folder: Path, task: Task, *, slow: bool = False) -> None:
        now = time.monotonic()
        self.episode = Episode(
            instantiate(task, seed=0), SlowPick() if slow else CubePick(), started_s=now
        )
        self.log = folder / "requests.jsonl"
        self.thread = EpisodeThread(self.episode, log=self.log, started_s=now)
        self.socket = folder / "robo.sock"
        self.server = RoboServer(self.socket, self.thread)
        self.thread.start()

    def close(self) -> None:
        self.server.close()
        self.thread.close()


@contextlib.contextmanager
def slow_server(first_s: float) -> Iterator[str]:
    """Serve a policy in a process of its own, whose first answer blocks its loop; gives the URL."""
    words = ["policy", "serve", "scripted", "--port", "0", "--slow-first-s", str(first_s)]
    with subprocess.Popen(
        [sys.executable, "-m", "interlock.cli.main", *words], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()
