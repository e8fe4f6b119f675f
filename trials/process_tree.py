"""Start an agent and end it with everything it started, whatever it does to survive.

Without a PID namespace, children that lost their parent come back to us (the runner is their
subreaper), so a daemon in a new session is found as well. This file reads the clock.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_OUTPUT_BYTES = 16 * 1024 * 1024
PR_SET_CHILD_SUBREAPER = 36


class AgentProcess:
    """A running agent; its output goes to two files, at most `MAX_OUTPUT_BYTES` each."""

    def __init__(
        self, argv: Sequence[str], *, cwd: Path, environment: Mapping[str, str], output: Path
    ) -> None:
        self.dropped_bytes = 0
        self._ours = set(_children(os.getpid())) if become_subreaper() else None
        self._process = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        output.mkdir(parents=True, exist_ok=True)
        streams = ((self._process.stdout, "stdout.txt"), (self._process.stderr, "stderr.txt"))
        self._pumps = [
            threading.Thread(target=self._pump, args=(stream, output / name), daemon=True)
            for stream, name in streams
        ]
        for pump in self._pumps:
            pump.start()

    @property
    def returncode(self) -> int | None:
        """Its exit code; None while it runs."""
        return self._process.poll()

    def end(self, *, grace_s: float = 2.0) -> int:
        """Ask the whole tree to stop, then kill what is left; return how many were killed."""
        for pid in self._tree():
            _signal(pid, signal.SIGTERM)
        limit = time.monotonic() + grace_s
        while self._tree() and time.monotonic() < limit:
            time.sleep(0.02)
        killed = self._kill_rest()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5.0)
        for pump in self._pumps:
            pump.join(2.0)
        return killed

    def _kill_rest(self) -> int:
        killed: set[int] = set()
        limit = time.monotonic() + 5.0
        while (tree := self._tree()) and time.monotonic() < limit:
            for pid in tree:
                # Stop first, so that nothing forks between the look and the kill.
                _signal(pid, signal.SIGSTOP)
            for pid in tree:
                _signal(pid, signal.SIGKILL)
            killed |= set(tree)
            time.sleep(0.01)
        return len(killed)

    def _tree(self) -> list[int]:
        """Return every living process that descends from the agent."""
        parents = _parents()
        _reap(parents, keep=(self._ours or set()) | {self._process.pid})
        self._process.poll()
        roots = {self._process.pid}
        if self._ours is not None:
            mine = {pid for pid, (parent, _) in parents.items() if parent == os.getpid()}
            roots |= mine - self._ours
        found = {pid for pid in parents if _descends(pid, roots, parents)}
        return sorted(pid for pid in found if parents[pid][1] != "Z")

    def _pump(self, stream: IO[bytes] | None, path: Path) -> None:
        if stream is None:
            return
        written = 0
        with stream, path.open("wb") as file:
            while data := os.read(stream.fileno(), 1 << 16):
                kept = data[: max(0, MAX_OUTPUT_BYTES - written)]
                written += len(kept)
                self.dropped_bytes += len(data) - len(kept)
                file.write(kept)
                file.flush()


def become_subreaper() -> bool:
    """Make orphans of our descendants our children (Linux); return whether that worked."""
    try:
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)
        return bool(libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError):
        return False


def _parents() -> dict[int, tuple[int, str]]:
    """Return pid -> (parent, state) of every process we can see."""
    table: dict[int, tuple[int, str]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            table[int(entry.name)] = (int(fields[1]), fields[0])
    return table


def _children(pid: int) -> list[int]:
    return [child for child, (parent, _) in _parents().items() if parent == pid]


def _descends(pid: int, roots: set[int], parents: Mapping[int, tuple[int, str]]) -> bool:
    seen: set[int] = set()
    while pid not in roots:
        if pid in seen or pid not in parents:
            return False
        seen.add(pid)
        pid = parents[pid][0]
    return True


def _reap(parents: Mapping[int, tuple[int, str]], *, keep: set[int]) -> None:
    """Collect orphans that came back to us and are dead."""
    for pid, (parent, state) in parents.items():
        if parent == os.getpid() and state == "Z" and pid not in keep:
            with contextlib.suppress(OSError):
                os.waitpid(pid, os.WNOHANG)


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, number)
