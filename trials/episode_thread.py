"""The one thread that owns an episode's world; every request reaches it through a queue.

Between two control steps of a running motion it answers reads, so `observe` never waits for a
skill. Motions take turns. `done` and `give-up` end the running motion. This file reads the clock.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from interlock.messages.errors import InterlockError
from interlock.trials.episode import STOPPED
from interlock.trials.errors import RefusedError
from interlock.trials.job import POLICY, Job
from interlock.trials.replies import busy, closed, refusal, without_pictures

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from interlock.trials.backend import Motion, World
    from interlock.trials.episode import Episode
    from interlock.trials.judgement import Verdict
    from interlock.trials.verbs import Verb

MAX_WAITING = 16
IDLE_S = 0.2


class EpisodeThread:
    """Serves jobs until the episode is closed; logs each with arrival, wait and duration."""

    def __init__(self, episode: Episode, *, log: Path, started_s: float) -> None:
        self._episode = episode
        self._started_s = started_s
        self._log = log.open("w", encoding="utf-8")
        self._wake = threading.Condition()
        self._reads: deque[Job] = deque()
        self._moves: deque[Job] = deque()
        self._ends: deque[Job] = deque()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="episode", daemon=True)
        self._failure: BaseException | None = None
        self.requests = 0
        #: Called after every control step, e.g. to film it.
        self.on_step: Callable[[], None] | None = None

    def start(self) -> None:
        """Start serving."""
        self._thread.start()

    def submit(
        self,
        verb: Verb,
        values: dict[str, Any],
        *,
        make: Callable[[World], Motion] | None = None,
    ) -> dict[str, Any]:
        """Ask something and wait for the answer; called by any thread."""
        job = Job(verb=verb, values=values, arrived_s=self._now(), make=make)
        queue = self._queue_for(verb)
        with self._wake:
            if len(queue) >= MAX_WAITING:
                return refusal(busy(MAX_WAITING))
            if self._closing or self._failure is not None:
                return refusal(closed())
            queue.append(job)
            self._wake.notify()
        job.answered.wait()
        return job.reply

    def end(self, outcome: str, text: str = "") -> None:
        """End the episode from outside: time-out, spend cap, agent gone."""
        self._episode.end(outcome, text)
        with self._wake:
            self._wake.notify()

    def stop(self, by: str, reason: str) -> None:
        """Stop for good, on an operator's word; `close` brings the robot to rest.

        The running motion ends at the next control step, and no other begins.
        """
        self.end(STOPPED, f"by {by or 'the operator'}" + (f": {reason}" if reason else ""))

    def close(self) -> Verdict:
        """Stop serving, judge, and return the verdict.

        Raises:
            InterlockError: If the world failed, so that nothing can be judged.
        """
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._thread.join()
        self._log.close()
        if self._failure is not None:
            raise InterlockError(f"the world failed: {self._failure!r}") from self._failure
        return self._episode.judge()

    def run_policy(self, make: Callable[[World], Motion]) -> dict[str, Any]:
        """Let a policy drive the robot as one motion; only players call it."""
        return self.submit(POLICY, {}, make=make)

    def resolve(self, line: str) -> str:
        """Put true positions into a line of the reference solution; only players call it."""
        return self._episode.resolve(line)

    @property
    def outcome(self) -> str | None:
        """How the episode ended; None while it runs."""
        return self._episode.outcome

    def _queue_for(self, verb: Verb) -> deque[Job]:
        if verb.name in ("done", "give_up"):
            return self._ends
        return self._moves if verb.moves else self._reads

    def _run(self) -> None:
        try:
            while not self._closing:
                self._turn()
        except BaseException as error:
            self._failure = error
        for queue in (self._ends, self._reads, self._moves):
            while queue:
                self._answer(queue.popleft(), refusal(closed()))

    def _turn(self) -> None:
        self._serve_between_steps()
        if self._moves:
            self._serve_motion(self._moves.popleft())
            return
        running = self._episode.instance.task.thinking == "running"
        if running and self._episode.outcome is None:
            self._step(self._episode.hold())
        with self._wake:
            if not (self._reads or self._moves or self._ends or self._closing):
                self._wake.wait(self._episode.period_s if running else IDLE_S)
        self._episode.check_clock(self._now())

    def _serve_between_steps(self) -> None:
        while self._ends:
            self._serve_end(self._ends.popleft())
        while self._reads:
            job = self._begin(self._reads.popleft())
            try:
                self._answer(job, {"ok": True, "result": self._episode.read(job.verb, job.values)})
            except InterlockError as error:
                self._answer(job, refusal(error))

    def _serve_end(self, job: Job) -> None:
        self._begin(job)
        try:
            self._episode.refuse_after_end()
        except RefusedError as error:
            self._answer(job, refusal(error))
            return
        outcome = "done" if job.verb.name == "done" else "gave_up"
        self._episode.end(outcome, str(job.values.get("text", "")))
        self._answer(job, {"ok": True, "result": {"outcome": outcome}})

    def _serve_motion(self, job: Job) -> None:
        self._begin(job)
        try:
            result = self._drive(self._motion(job))
            executed = self._episode.steps - job.steps_before
            state = self._episode.state()
            reply = {"ok": True, "result": {**result, "executed_steps": executed, "state": state}}
        except InterlockError as error:
            reply = refusal(error)
            reply["executed_steps"] = self._episode.steps - job.steps_before
        self._answer(job, reply)

    def _motion(self, job: Job) -> Motion:
        if job.make is None:
            return self._episode.start(job.verb, job.values)
        return self._excused(self._episode.start_policy(job.make))

    def _excused(self, motion: Motion) -> Motion:
        """Leave the time up to a policy's first control step out of the trial's budget."""
        began_s = self._now()
        try:
            next(motion)
        except StopIteration as finished:
            return dict(finished.value or {})
        finally:
            self._episode.excuse(self._now() - began_s)
        try:
            yield
            return (yield from motion)
        finally:
            motion.close()

    def _drive(self, motion: Motion) -> dict[str, Any]:
        """Step a motion to its end, or to the end of the episode."""
        while True:
            try:
                next(motion)
            except StopIteration as finished:
                return dict(finished.value or {})
            self._after_step()
            self._serve_between_steps()
            if self._episode.outcome is not None or self._closing:
                motion.close()
                return {"stopped": self._episode.outcome or "closed"}

    def _step(self, motion: Motion) -> None:
        for _ in motion:
            self._after_step()

    def _after_step(self) -> None:
        self._episode.after_step(self._now())
        if self.on_step is not None:
            self.on_step()

    def _begin(self, job: Job) -> Job:
        job.started_s, job.steps_before = self._now(), self._episode.steps
        return job

    def _answer(self, job: Job, reply: dict[str, Any]) -> None:
        reply["budget"] = self._episode.budget(self._now())
        job.reply = reply
        self.requests += 1
        ended_s = self._now()
        entry = {
            "arrived_s": round(job.arrived_s - self._started_s, 6),
            "waited_ms": round(1e3 * (job.started_s - job.arrived_s), 3),
            "took_ms": round(1e3 * (ended_s - job.started_s), 3),
            "steps": [job.steps_before, self._episode.steps],
            "request": {"verb": job.verb.name, **job.values},
            "reply": without_pictures(reply),
        }
        self._log.write(json.dumps(entry) + "\n")
        self._log.flush()
        job.answered.set()

    def _now(self) -> float:
        return time.monotonic()
