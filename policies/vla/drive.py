"""Drives the arm with a served policy, as one task behind the Gate.

The chunk that is being played is sent ahead as rows on a schedule: a lost message, a slow server
or a dead one leaves the arm with a motion that the Gate has already made to end at rest.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from interlock.messages import Command, StaleDataError, Verdict
from interlock.policies.errors import GateRefusedError
from interlock.policies.skills.body import CYCLE_S
from interlock.policies.skills.skill import Skill
from interlock.policies.vla.errors import PolicyError
from interlock.policies.vla.inference import report
from interlock.policies.vla.pilot import LEAD_NS

if TYPE_CHECKING:
    from collections.abc import Callable

    from interlock.messages import Basis
    from interlock.policies.skills.body import Body
    from interlock.policies.task import Task
    from interlock.policies.vla.pilot import Pilot
    from interlock.policies.vla.robot import Snapshot

ROW_NS = 20_000_000
ROWS = 12
#: A new command goes out when less than this of the last one is left.
RUNWAY_NS = 160_000_000
#: Refusals in a row after which the policy is given up.
MAX_REFUSALS = 10
#: How long pictures and states may be missing before the start, in s.
PATIENCE_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What the policy may look at now.

    Attributes:
        snapshot: Pictures, state and prompt.
        basis: The messages that it was made from.
    """

    snapshot: Snapshot
    basis: tuple[Basis, ...]


@dataclass
class Drive(Skill):
    """Let a policy move the arm until it is done.

    Attributes:
        pilot: The policy.
        look: Returns what there is to see; StaleDataError when it is too old.
        episode: Name of the episode, for servers that want one.
        max_steps: Control steps at most; 0 for no budget.
        touch: Objects that it may touch.
    """

    pilot: Pilot
    look: Callable[[], Sight]
    episode: str
    max_steps: int = 0
    touch: tuple[str, ...] = ()

    targets: ClassVar[tuple[str, ...]] = ()

    def check(self) -> None:
        """Nothing to check: the pilot has checked the contract."""

    def touches(self) -> tuple[str, ...]:
        """Return the objects that it may touch."""
        return self.touch

    def __str__(self) -> str:
        return f"policy {self.pilot.preset.name}"

    async def run_as(self, task: Task[Any]) -> dict[str, Any]:
        """Check the contract and warm up without the arm, then drive under a token."""
        try:
            await self._get_ready(task)
            return await super().run_as(task)
        finally:
            report(task.runtime, self.pilot.inferences, None, 0)
            self.pilot.conduct.report(task.runtime)

    async def _get_ready(self, task: Task[Any]) -> None:
        task.phase = "checking the contract"
        give_up_s = task.runtime.loop.time() + PATIENCE_S
        while True:
            try:
                seen = self.look()
                if self.pilot.get_ready(seen.snapshot, self.episode, task.runtime.loop.now_ns):
                    break
            except StaleDataError:
                if task.runtime.loop.time() > give_up_s:
                    raise
            await asyncio.sleep(CYCLE_S)
        report(task.runtime, self.pilot.inferences, None, 0)
        task.runtime.event(
            "policy", f"{self.pilot.preset.name} fits; warmed up", **self.pilot.timing.medians()
        )

    async def run(self, body: Body) -> dict[str, Any]:
        """Play chunks until the policy, its budget or the Gate ends it."""
        sender = _Sender(self.pilot, body)
        steps, prompt = 0, ""
        while not self.pilot.done:
            try:
                seen = self.look()
            except StaleDataError:
                self.pilot.clear("stale observation")
                await body.cycle()
                continue
            if seen.snapshot.prompt != prompt:
                if prompt:
                    self.pilot.clear("prompt changed")
                prompt = seen.snapshot.prompt
            self.pilot.conduct.saw(seen.snapshot)
            sender.step(seen, body.now_ns)
            await body.cycle()
            steps += 1
            if (
                self.max_steps
                and steps >= self.max_steps - self.pilot.preset.stop.budget_steps_left
            ):
                self.pilot.done = f"step budget: {steps} of {self.max_steps}"
        self.pilot.clear("done")
        return {
            "done": self.pilot.done,
            "steps": steps,
            **self.pilot.timing.medians(),
            **self._counts(),
            **self.pilot.conduct.to_json(),
            "remark": self.pilot.conduct.sentence,
        }

    def _counts(self) -> dict[str, Any]:
        counts, settings = self.pilot.player.counts, self.pilot.preset.chunks
        shares = counts.executed_shares
        return {
            "settings": dataclasses.asdict(settings),
            "chunks": counts.chunks,
            "discarded": counts.discarded,
            "ran_out": counts.ran_out,
            "opposite": counts.opposite,
            "largest_seam": round(counts.largest_seam, 4),
            "executed_share": round(float(np.mean(shares)), 3) if shares else 0.0,
        }


class _Sender:
    """Sends what the pilot plays, a little ahead, and takes in what the Gate says."""

    def __init__(self, pilot: Pilot, body: Body) -> None:
        self._pilot, self._body = pilot, body
        self._until_ns = 0
        self._committed_ns = 0
        self._chunk = -1
        self._refused = 0
        self._refused_ns: int | None = None
        self._sentence = ""
        self._basis: dict[int, tuple[Basis, ...]] = {}
        body.lease.on_verdict = self._on_verdict

    def step(self, seen: Sight, now_ns: int) -> None:
        """Play one control tick."""
        if self._refused >= MAX_REFUSALS:
            raise GateRefusedError(self._sentence)
        if self._refused_ns is not None:
            # The arm runs out its verified stop; only at rest is there a state to go on from.
            if not self._body.runtime.at_rest(self._refused_ns):
                return
            self._refused_ns = None
            self._pilot.clear("refused")
        self._basis[seen.snapshot.id] = seen.basis
        step = self._pilot.step(seen.snapshot, now_ns)
        if step.kind != "play":
            return
        new = step.observation_id != self._chunk
        if new or self._until_ns - now_ns < RUNWAY_NS:
            self._send(step.observation_id, seen, now_ns)

    def _send(self, observation_id: int, seen: Sight, now_ns: int) -> None:
        start_ns = max(now_ns + LEAD_NS, self._committed_ns)
        rows = self._pilot.player.ahead(start_ns, ROWS, ROW_NS)
        if not np.all(np.isfinite(rows)):
            raise PolicyError("the player made a target that is not finite")
        width = self._pilot.decoder.width
        grips = rows[:, width:]
        command = Command(
            task=self._body.lease.token,
            space=self._pilot.decoder.space,
            targets=np.ascontiguousarray(rows[:, :width]),
            period_ns=ROW_NS,
            gripper_m=np.ascontiguousarray(grips[:, 0]) if grips.shape[1] else np.zeros(0),
            start_ns=start_ns,
        )
        # A command rests on the picture its chunk answers, and on where the robot is now.
        basis = (*self._basis.get(observation_id, ()), *seen.basis[:1])
        self._body.runtime.send("command", command, tuple(dict.fromkeys(basis)))
        report(self._body.runtime, self._pilot.inferences, observation_id, start_ns)
        self._pilot.conduct.sent.add(rows[:, :width])
        self._until_ns = start_ns + ROWS * ROW_NS
        self._chunk = observation_id
        self._basis = {k: v for k, v in self._basis.items() if k >= observation_id}

    def _on_verdict(self, verdict: Verdict) -> None:
        if verdict.admitted:
            self._refused = 0
            self._committed_ns = max(self._committed_ns, verdict.committed_until_ns)
            return
        self._refused += 1
        self._pilot.conduct.refused += 1
        self._sentence = verdict.sentence
        self._until_ns, self._chunk = 0, -1
        self._refused_ns = self._body.now_ns
        self._pilot.clear("refused")
        codes = json.dumps(list(verdict.codes))
        self._body.runtime.event("refused", verdict.sentence, codes=codes)
