"""Watch one run of dora: tell what happens, notice who hangs, end it in time, leave nothing."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from interlock.cli.run_events import EventFiles, Told
from interlock.cli.run_processes import RunProcess, kill, kill_all, processes_of, state_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

#: A node that gives no sign of life for this long hangs, in s.
HANG_S = 3.0
#: A suspended process (SIGSTOP) is reported after this time, in s.
SUSPENDED_S = 1.0
#: After the request to stop: when hanging nodes are killed, and when everything is, in s.
GRACE_S, LAST_S = 1.8, 2.5
#: How long nodes may go on after the core of the run has ended, in s.
BYSTANDERS_S = 2.0
#: Nodes that get the longer time, because they write the record of the run.
RECORDERS = ("trace",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run ended.

    Attributes:
        status: finished, failed or stopped.
        reason: What ended it, in one sentence; empty when it finished.
        killed: Nodes that had to be killed.
        seconds: How long it took, in s.
    """

    status: Literal["finished", "failed", "stopped"]
    reason: str
    killed: tuple[str, ...]
    seconds: float


class Supervisor:
    """One run of dora in a session of its own.

    Args:
        command: The dora command.
        environ: Its environment; holds INTERLOCK_RUN_DIR.
        run_dir: Folder of the run; dora's own words go to ``dora.log`` there.
        tell: Called with every line of an event file.
        core: Nodes without which the run is over; what then still runs is told to stop.
    """

    def __init__(
        self,
        command: Sequence[str],
        environ: Mapping[str, str],
        run_dir: Path,
        tell: Callable[[Told], None],
        core: Collection[str] = (),
    ) -> None:
        self._core = set(core)
        self._over_since = 0.0
        self._run_dir = run_dir
        self._tell = tell
        self._events = EventFiles(run_dir / "events")
        self._log = run_dir / "dora.log"
        self._started = time.monotonic()
        self._interrupts = 0
        self._ending_since = 0.0
        self._cause = ""
        self._killed: list[str] = []
        self._suspended: dict[int, float] = {}
        self._first_seen: dict[str, float] = {}
        with self._log.open("wb") as log:
            self._dora = subprocess.Popen(
                list(command),
                env=dict(environ),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_die_with_parent,  # noqa: PLW1509 (this process has one thread)
            )
        handled = (signal.SIGINT, signal.SIGTERM)
        self._before = {s: signal.signal(s, self._interrupt) for s in handled}

    def run(self) -> Outcome:
        """Watch until the run is over; Ctrl-C ends it, a second one at once."""
        try:
            looked = 0.0
            while self._dora.poll() is None:
                time.sleep(0.03)
                self._tell_new()
                if time.monotonic() - looked > 0.25:
                    looked = time.monotonic()
                    self._look()
                if self._ending_since:
                    self._press()
            self._wait_for_orphans()
            left = kill_all(self._run_dir)
            self._killed += [p.node for p in left if p.node]
            self._tell_new()
        finally:
            for number, handler in self._before.items():
                signal.signal(number, handler)
        return self._outcome()

    def _interrupt(self, number: int, _frame: object) -> None:
        self._interrupts += 1
        if self._interrupts > 1:
            self._ending_since = time.monotonic() - LAST_S
        self._end(f"stopped by {signal.Signals(number).name}")

    def _end(self, cause: str) -> None:
        """Ask dora to stop every node; the first cause counts."""
        if self._cause:
            return
        self._cause = cause
        self._ending_since = time.monotonic()
        with contextlib.suppress(ProcessLookupError):
            self._dora.send_signal(signal.SIGINT)

    def _press(self) -> None:
        """Kill what does not follow the request to stop in time, hanging nodes first."""
        waited = time.monotonic() - self._ending_since
        if waited < GRACE_S:
            return
        left = [p for p in processes_of(self._run_dir) if p.node]
        if waited < LAST_S:
            left = [p for p in left if p.node not in RECORDERS]
        else:
            left += [RunProcess(pid=self._dora.pid, node="", state="")]
        self._killed += [p.node for p in left if p.node]
        kill([p.pid for p in left])

    def _tell_new(self) -> None:
        for told in self._events.new():
            self._tell(told)

    def _look(self) -> None:
        """End the run when a node, or dora itself, hangs, or when only bystanders are left."""
        if self._ending_since:
            return
        now = time.monotonic()
        if self._core and self._core <= self._events.ended.keys():
            self._over_since = self._over_since or now
            if now - self._over_since > BYSTANDERS_S:
                self._ending_since = now
                self._dora.send_signal(signal.SIGINT)
                return
        for process in processes_of(self._run_dir):
            if process.state.upper() != "T":
                self._suspended.pop(process.pid, None)
                continue
            since = self._suspended.setdefault(process.pid, now)
            if now - since > SUSPENDED_S:
                name = f"node {process.node!r}" if process.node else "dora"
                self._end(f"{name} hangs: process {process.pid} is suspended")
                return
        for file in sorted((self._run_dir / "alive").glob("*")):
            with contextlib.suppress(OSError, ValueError):
                self._look_at(file)

    def _look_at(self, file: Path) -> None:
        touched = file.stat().st_mtime
        first = self._first_seen.setdefault(file.name, touched)
        pid = int(file.read_text() or 0)
        # Until the second sign of life the node may still be loading something large.
        silent_s = time.time() - touched
        if touched > first and silent_s > HANG_S and pid and state_of(pid):
            self._end(
                f"node {file.name!r} hangs: no sign of life for {silent_s:.1f} s (process {pid})"
            )

    def _wait_for_orphans(self) -> None:
        """Give nodes whose dora was killed the time to bring the arm to rest and say why."""
        deadline = time.monotonic() + (LAST_S if self._dora.returncode < 0 else 0.3)
        while time.monotonic() < deadline and any(p.node for p in processes_of(self._run_dir)):
            time.sleep(0.05)
            self._tell_new()

    def _outcome(self) -> Outcome:
        killed = tuple(dict.fromkeys(self._killed))
        seconds = time.monotonic() - self._started
        code = self._dora.returncode
        if self._interrupts:
            hung = ", ".join(repr(k) for k in killed)
            why = "no answer to stop" if self._interrupts == 1 else "asked twice"
            reason = self._cause + (f"; had to kill {hung}: {why}" if hung else "")
            return Outcome(status="stopped", reason=reason, killed=killed, seconds=seconds)
        reason = self._cause or self._first_death()
        if not reason and code != 0:
            end = f"signal {-code}" if code < 0 else f"code {code}"
            reason = f"dora ended with {end}; see {self._log}"
        status: Literal["finished", "failed"] = "failed" if reason else "finished"
        return Outcome(status=status, reason=reason, killed=killed, seconds=seconds)

    def _first_death(self) -> str:
        """Return who ended badly first, and why."""
        if self._dora.returncode < 0:
            return f"dora was killed by {signal.Signals(-self._dora.returncode).name}"
        failed = [t for t in self._events.ended.values() if t.fields.get("status") == "failed"]
        text = self._log.read_text(encoding="utf-8", errors="replace")
        for node, how, rest in re.findall(_DIED, text):
            told = self._events.ended.get(node)
            if told is not None and told.fields.get("status") == "failed":
                return f"node {node!r} failed: {told.fields.get('reason', '')}"
            last = _last_words(rest) if "stderr output" in how else ""
            return f"node {node!r} died: {how.removesuffix(' with stderr output:')}{last}"
        for told in sorted(failed, key=lambda t: t.t_ns):
            return f"node {told.node!r} failed: {told.fields.get('reason', '')}"
        return _refusal(text) if self._dora.returncode else ""


#: dora's line about a node that ended badly, and the block of its last words.
_DIED = re.compile(
    r"ERROR\s+(\S+): daemon (exited (?:with|because)[^\n]*)\n((?:-{20,}\n(?:.*\n)*?-{20,}\n)?)"
)


def _last_words(block: str) -> str:
    """Return the exception that a traceback ends with, else the last line."""
    lines = [x.strip() for x in block.splitlines() if x.strip("-^~ ")]
    errors = [x for x in lines if re.match(r"[\w.]+(Error|Exception|Exit)\b", x)]
    return f": {(errors or lines)[-1]}" if lines else ""


def _refusal(log: str) -> str:
    """Return why dora itself gave up, from the end of its log."""
    _, found, report = log.rpartition("[ERROR]")
    if not found:
        return ""
    from interlock.cli.dora_tool import complaint

    return f"dora: {complaint(report)}"


def _die_with_parent() -> None:
    """Have dora told to stop when this process is killed (Linux)."""
    import ctypes

    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGTERM)
