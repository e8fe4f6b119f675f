"""Film an episode: hand one state per picture to the film process, and never wait for it.

When the film process is behind, pictures are left out and counted; the control loop goes on.
"""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import sys
import threading
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Protocol

from interlock.trials.errors import PreflightError

if TYPE_CHECKING:
    from pathlib import Path

    from interlock.trials.plan import VideoOptions

WAITING = 512
FINISH_S = 60.0


class Filmed(Protocol):
    """A world that can be filmed: what draws it, and what a picture needs."""

    def film_setup(self) -> tuple[str, Any]:
        """Return the painter (``module:class``) and what it is built from."""
        ...

    def film_frame(self) -> bytes:
        """Return what a picture of now needs."""
        ...


class Recorder:
    """Films one episode into ``video.mp4``."""

    def __init__(
        self, world: Filmed, options: VideoOptions, file: Path, *, period_s: float
    ) -> None:
        self._world, self._file = world, file
        self._every = max(1, round(1 / (options.fps * period_s)))
        self._queue: queue.Queue[bytes | None] = queue.Queue(WAITING)
        self.frames = self.dropped = 0
        painter, setup = world.film_setup()
        order = asdict(options) | {"painter": painter, "setup": setup, "file": str(file)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "interlock.trials.film"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        self._feeder = threading.Thread(target=self._feed, args=(order,), daemon=True)
        self._feeder.start()
        self._steps = 0

    def after_step(self) -> None:
        """Take a picture when one is due."""
        self._steps += 1
        if self._steps % self._every:
            return
        try:
            self._queue.put_nowait(self._world.film_frame())
            self.frames += 1
        except queue.Full:
            self.dropped += 1

    def finish(self) -> dict[str, Any]:
        """Wait for the film process and say what came of it."""
        self._queue.put(None)
        self._feeder.join(FINISH_S)
        try:
            _, errors = self._process.communicate(timeout=FINISH_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            errors = b"the film process did not end in time"
        report: dict[str, Any] = {"frames": self.frames, "dropped": self.dropped}
        if self._process.returncode != 0:
            report["error"] = errors.decode(errors="replace").strip().splitlines()[-1:]
            self._file.unlink(missing_ok=True)
        return report

    def _feed(self, order: dict[str, Any]) -> None:
        target = self._process.stdin
        assert target is not None
        with contextlib.suppress(OSError):
            target.write(json.dumps(order).encode() + b"\n")
            while (frame := self._queue.get()) is not None:
                target.write(len(frame).to_bytes(4, "big") + frame)
            target.flush()


def preflight_video(options: VideoOptions | None) -> None:
    """Refuse a video that could not be encoded.

    Raises:
        PreflightError: If PyAV is missing, or the size is odd.
    """
    if options is None:
        return
    from importlib.util import find_spec

    if find_spec("av") is None:
        raise PreflightError("video needs PyAV: pip install 'interlock[video]', or --video off")
    if options.width % 2 or options.height % 2:
        raise PreflightError(f"video size must be even, got {options.width}x{options.height}")
