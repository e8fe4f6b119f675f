"""Run trials in several worker processes at once; a worker that dies costs one try, not the run.

This file starts processes and reads the clock.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from interlock.trials.sweep import keep_failed, retry_wait_s

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from interlock.trials.plan import Plan


@dataclass(slots=True)
class Job:
    """A trial to run: its plan, the worker's options, tries so far, earliest start."""

    plan: Plan
    options: dict[str, Any]
    tried: int = 0
    not_before_s: float = 0.0


class Pool:
    """Worker processes that take jobs from one list."""

    def __init__(
        self,
        jobs: Sequence[Job],
        *,
        out: Path,
        workers: int,
        retries: int,
        report: Callable[[Job, dict[str, Any]], None],
    ) -> None:
        self._waiting = list(jobs)
        self._left = len(jobs)
        self._out, self._retries, self._report = out, retries, report
        self._lock = threading.Lock()
        self._stop = threading.Event()
        #: Who stopped the set, and why; empty if nobody did.
        self.stopped = ""
        self._running: set[Worker] = set()
        self._threads = [
            threading.Thread(target=self._work, daemon=True)
            for _ in range(min(workers, max(1, len(jobs))))
        ]

    def stop(self, by: str, reason: str) -> None:
        """Start no further trial, on an operator's word; running ones have doors of their own."""
        self.stopped = f"by {by or 'the operator'}" + (f": {reason}" if reason else "")
        self._stop.set()

    def run(self) -> None:
        """Run every job; Ctrl-C ends the workers and goes on to the caller."""
        for thread in self._threads:
            thread.start()
        try:
            while any(thread.is_alive() for thread in self._threads):
                for thread in self._threads:
                    thread.join(0.05)
        finally:
            self._stop.set()
            for worker in list(self._running):
                worker.close()

    def _work(self) -> None:
        worker = Worker()
        self._running.add(worker)
        try:
            while not self._stop.is_set() and self._left > 0:
                job = self._take()
                if job is None:
                    self._stop.wait(0.05)
                    continue
                summary = worker.run(job.options | {"attempt": job.tried})
                if not worker.alive and not self._stop.is_set():
                    self._running.discard(worker)
                    worker = Worker()
                    self._running.add(worker)
                if not self._stop.is_set():
                    self._settle(job, summary)
        finally:
            worker.close()

    def _take(self) -> Job | None:
        now = time.monotonic()
        with self._lock:
            for job in self._waiting:
                if job.not_before_s <= now:
                    self._waiting.remove(job)
                    return job
        return None

    def _settle(self, job: Job, summary: dict[str, Any]) -> None:
        job.tried += 1
        wait = retry_wait_s(summary, job.tried, retries=self._retries)
        with self._lock:
            if wait is not None:
                keep_failed(self._out, job.plan, job.tried)
                job.not_before_s = time.monotonic() + wait
                self._waiting.append(job)
                return
            self._left -= 1
            self._report(job, summary)


class Worker:
    """One worker process; it dies with us."""

    def __init__(self) -> None:
        self._busy = False
        self._process = subprocess.Popen(
            [sys.executable, "-m", "interlock.trials.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    @property
    def alive(self) -> bool:
        """Whether it can take another job."""
        return self._process.poll() is None

    def run(self, options: dict[str, Any]) -> dict[str, Any]:
        """Run one trial and return its summary; a dead worker is an infrastructure failure."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._busy = True
            self._process.stdin.write(json.dumps(options) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except (OSError, ValueError):
            line = ""
        self._busy = False
        if line:
            summary: dict[str, Any] = json.loads(line)
            return summary
        code = self._process.wait()
        message = f"the worker process ended with code {code}"
        return {"reward": None, "exception": {"type": "WorkerError", "message": message}}

    def close(self) -> None:
        """Interrupt what it runs, so that its trial is kept as cancelled, and end it."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        if self.alive and self._busy:
            self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(10.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
