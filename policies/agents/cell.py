"""Run a program that nobody has read in a process of its own, walled in, one step at a time.

The process (bubblewrap: no network, nothing writable, no other process in sight) has a pipe to us
and no way to the Gate. In each control cycle it is told the time and what has changed, and says
what it wants started or cancelled; it ends with its whole process tree.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import queue
import resource
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlock.policies.desk import Desk, shown
from interlock.policies.errors import ProgramError, SkillError
from interlock.policies.task import current_task

if TYPE_CHECKING:
    from interlock.operators.world import Stamped
    from interlock.policies.runtime import Runtime

CYCLE_S = 0.02
#: A program that does not say anything for this long is ended, in s.
SILENT_S = 5.0
#: Time for Python and its imports to start, in s.
START_S = 20.0
MEMORY_BYTES = 2 << 30
CPU_S = 120
MAX_LINE = 1_000_000
CHILD = "interlock.policies.agents.cell_child"
MAX_TOLD = 500


async def run_in_cell(source: str, *, name: str = "program", walls: bool = True) -> str:
    """Run program text and return its result.

    Args:
        source: The program, with ``async def main()``.
        name: Its name, as a client of the tasks.
        walls: False leaves out bubblewrap; only for programs that somebody has read.

    Raises:
        ProgramError: If it can't start, breaks the protocol, or says nothing for ``SILENT_S``.
        SkillError: If it failed, with its reason.
    """
    runtime = current_task().runtime
    desk, process = Desk(runtime), _Process(source, walls=walls)
    try:
        ended = await _converse(runtime, desk, name, process)
    finally:
        process.end()
        desk.gone(name)
    if ended["status"] == "succeeded":
        return str(ended["result"] or "")
    raise SkillError(f"the program {ended['status']}: {ended['reason']}")


async def _converse(runtime: Runtime, desk: Desk, name: str, process: _Process) -> dict[str, Any]:
    answers: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    sent: dict[str, Stamped] = {}
    allowed_s = START_S
    while True:
        process.say(
            {
                "now_ns": runtime.loop.now_ns,
                "answers": [answers.get() for _ in range(answers.qsize())],
                "world": _changed(runtime, sent),
            }
        )
        allowed_s = await _heard(runtime, process, allowed_s)
        message = process.message
        for text in message.get("told", ())[:MAX_TOLD]:
            runtime.event("task", f"program: {text!s:.300}")
        for request in message.get("requests", ()):
            desk.ask(name, request, _Answer(answers, request.pop("id", None)))
        if "ended" in message:
            return dict(message["ended"])
        await asyncio.sleep(CYCLE_S)


class _Answer:
    """Keeps the answer to one request for the next message to the program."""

    def __init__(self, answers: queue.SimpleQueue[dict[str, Any]], number: Any) -> None:
        self._answers, self._number = answers, number

    def __call__(self, answer: dict[str, Any]) -> None:
        self._answers.put({"id": self._number, **answer})


def _changed(runtime: Runtime, sent: dict[str, Stamped]) -> dict[str, Any]:
    """Return the values of the World that are new since the last message."""
    found, names = {}, runtime.world.keys()
    for key in names:
        entry = runtime.world.latest(key)
        if entry is not None and entry is not sent.get(key):
            sent[key] = entry
            found[key] = [shown(entry.value), entry.observed_ns, entry.source]
    return found


async def _heard(runtime: Runtime, process: _Process, allowed_s: float) -> float:
    """Wait for the program's word; in lockstep time stands still meanwhile."""
    if runtime.lockstep:
        process.take(allowed_s)
        return SILENT_S
    waited_s = 0.0
    while not process.take(0.0, must=False):
        await asyncio.sleep(CYCLE_S)
        waited_s += CYCLE_S
        if waited_s > allowed_s:
            raise ProgramError(f"the program said nothing for {allowed_s:g} s; it was ended")
    return SILENT_S


class _Process:
    """The cell's process and its two pipes."""

    def __init__(self, source: str, *, walls: bool) -> None:
        self.message: dict[str, Any] = {}
        self._lines: queue.Queue[bytes] = queue.Queue(maxsize=100)
        self._process = subprocess.Popen(
            [
                *(_walls() if walls else ()),
                sys.executable,
                "-m",
                "interlock.policies.agents.cell_child",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
            env={"PATH": os.defpath, "HOME": "/tmp", "OMP_NUM_THREADS": "1"},
            preexec_fn=_limit,  # noqa: PLW1509 (only setrlimit)
        )
        threading.Thread(target=self._read, daemon=True, name="cell").start()
        self.say({"source": source})

    def say(self, message: dict[str, Any]) -> None:
        """Send a message; a program that has died is noticed when it is to answer."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()

    def take(self, timeout_s: float, *, must: bool = True) -> bool:
        """Take the program's next message into ``message``; return False when there is none.

        Raises:
            ProgramError: If it died, broke the protocol, or ``must`` have come.
        """
        try:
            line = self._lines.get(timeout=timeout_s) if timeout_s else self._lines.get_nowait()
        except queue.Empty:
            if must:
                text = f"the program said nothing for {timeout_s:g} s; it was ended"
                raise ProgramError(text) from None
            return False
        if not line:
            code = self._process.wait(timeout=5)
            raise ProgramError(f"the program's process ended by itself (exit code {code})")
        try:
            self.message = dict(json.loads(line))
        except (ValueError, TypeError) as error:
            raise ProgramError("the program's process broke the protocol") from error
        return True

    def end(self) -> None:
        """End the process and everything it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(ValueError, OSError):
            while line := self._process.stdout.readline(MAX_LINE):
                self._lines.put(line)
        self._lines.put(b"")


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _walls() -> list[str]:
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise ProgramError(
            "programs written by a model run only behind bubblewrap, which is not installed: "
            "apt-get install bubblewrap"
        )
    return [
        bwrap, "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/", "/",
        "--tmpfs", "/tmp", "--tmpfs", "/run", "--tmpfs", "/dev/shm", *_own_folders(),
        "--dev", "/dev", "--proc", "/proc", "--cap-drop", "ALL", "--",
    ]  # fmt: skip


def _own_folders() -> list[str]:
    """Return what shows this Python and these files again where they lie in a hidden folder."""
    room = Path(__file__).resolve().parents[2]
    folders = {Path(sys.prefix), Path(sys.base_prefix), room}
    hidden = [f for f in sorted(folders) if f.is_relative_to("/tmp") or f.is_relative_to("/run")]
    return [part for folder in hidden for part in ("--ro-bind", str(folder), str(folder))]
