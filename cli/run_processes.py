"""The processes of one run, found by their environment, however they were started."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from dataclasses import dataclass
from pathlib import Path

#: Environment variable that every process of a run inherits.
RUN_DIR = "INTERLOCK_RUN_DIR"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProcess:
    """One process of a run.

    Attributes:
        pid: Its id.
        node: Node that it runs; empty for dora itself and for helpers.
        state: State letter of /proc, e.g. ``S`` sleeping, ``R`` running, ``T`` suspended.
    """

    pid: int
    node: str
    state: str


def processes_of(run_dir: Path) -> list[RunProcess]:
    """Return every process whose environment names a run, zombies and ourselves left out."""
    wanted = f"{RUN_DIR}={run_dir}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            environ = (entry / "environ").read_bytes().split(b"\0")
            state = _state(entry)
        except OSError:
            continue
        if wanted in environ and state not in ("Z", "X"):
            found.append(RunProcess(pid=int(entry.name), node=_node(environ), state=state))
    return found


def state_of(pid: int) -> str:
    """Return the state letter of a process; empty when it is gone."""
    try:
        return _state(Path("/proc") / str(pid))
    except OSError:
        return ""


def _state(entry: Path) -> str:
    return (entry / "stat").read_text().rpartition(")")[2].split()[0]


def _node(environ: list[bytes]) -> str:
    for item in environ:
        if item.startswith(b"DORA_NODE_CONFIG="):
            match = re.search(rb"node_id:\s*[\"']?([^\s\"',}]+)", item)
            return match.group(1).decode(errors="replace") if match else "?"
    return ""


def kill(pids: list[int]) -> None:
    """Kill processes at once."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def kill_all(run_dir: Path, *, within_s: float = 2.0) -> list[RunProcess]:
    """Kill what is left of a run until nothing is; return what was found at first."""
    left = processes_of(run_dir)
    first = left
    deadline = time.monotonic() + within_s
    while left and time.monotonic() < deadline:
        kill([p.pid for p in left])
        time.sleep(0.02)
        left = processes_of(run_dir)
    return first
