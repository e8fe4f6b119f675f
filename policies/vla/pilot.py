"""Decides what a policy does at every control tick: ask, play, hold, or be done.

Begins with the contract: the server's metadata, then one answer that is only looked at (it also
warms the server up). Only then is the pilot ready, and nothing has moved.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from interlock.operators.chunks import ChunkPlayer, Step, Ticket
from interlock.policies.vla.action import ActionDecoder
from interlock.policies.vla.conduct import Conduct
from interlock.policies.vla.errors import NotFiniteError, PolicyError
from interlock.policies.vla.fit import check_chunk, check_metadata, check_robot
from interlock.policies.vla.inference import Inference
from interlock.policies.vla.observation import ObservationBuilder

if TYPE_CHECKING:
    from interlock.operators.chunk_mix import Chunk
    from interlock.policies.vla.asker import Asker
    from interlock.policies.vla.client import Answer
    from interlock.policies.vla.preset import Preset
    from interlock.policies.vla.robot import RobotContract, Snapshot
    from interlock.policies.vla.wire import Reply

#: Questions in a row that may fail before the pilot gives up.
MAX_FAILURES = 3
#: From now to the first instant that a new command changes.
LEAD_NS = 20_000_000
_SEAM_SPEED_SHARE = 0.5
_HAND_SPEED = np.array([0.5, 0.5, 0.5, 1.0, 1.0, 1.0, 1.0])


@dataclass(slots=True)
class Timing:
    """How long the parts of the newest inferences took, for the result, in ms."""

    preprocess_ms: list[float] = field(default_factory=list)
    roundtrip_ms: list[float] = field(default_factory=list)
    warmup_ms: list[float] = field(default_factory=list)
    server_ms: dict[str, list[float]] = field(default_factory=dict)

    def medians(self) -> dict[str, float]:
        """Return the median of each part that was measured, in ms; warm-up is a part of its own."""
        rows = {
            "preprocess_ms": self.preprocess_ms,
            "roundtrip_ms": self.roundtrip_ms,
            "warmup_ms": self.warmup_ms,
            **self.server_ms,
        }
        return {name: round(float(np.median(ms)), 2) for name, ms in rows.items() if ms}


class Pilot:
    """One policy on one robot for one episode.

    Attributes:
        phase: connecting, warming_up, ready; ``step`` may be called when ready.
        done: Why the policy is done; empty while it is not.
        timing: Latencies so far.
        conduct: What it asked for, what was sent, what the arm did.
        inferences: Answers that nobody has reported yet, oldest first.
    """

    def __init__(self, preset: Preset, robot: RobotContract, asker: Asker) -> None:
        check_robot(preset, robot)
        self.preset = preset
        self.decoder = ActionDecoder(preset, robot)
        self.player = ChunkPlayer(
            preset.chunks, self.decoder.columns, speed=self._speed(robot), lead_ns=LEAD_NS
        )
        self.phase: Literal["new", "connecting", "warming_up", "ready"] = "new"
        self.done = ""
        self.timing = Timing()
        self.conduct = Conduct(robot, self.decoder.space, self.decoder.width)
        self.inferences: list[Inference] = []
        self._builder = ObservationBuilder(preset, robot)
        self._asker = asker
        self._sent: tuple[Ticket | None, Snapshot] | None = None
        self._failures = 0
        self._inferences = 0
        self._still = 0
        self._before: Snapshot | None = None

    def get_ready(self, snapshot: Snapshot, episode: str, now_ns: int) -> bool:
        """Go on with connecting and warming up; True when the contract has been checked.

        Raises:
            SetupError: If server and preset disagree: an invalid set-up.
            PolicyError: If the server can't be asked.
        """
        if self.phase == "new":
            self._asker.connect(episode, now_ns)
            self.phase = "connecting"
        answer = self._poll(now_ns)
        if answer is None:
            return self.phase == "ready"
        if self.phase == "connecting":
            check_metadata(self.preset, answer)
            self._ask(None, snapshot, now_ns)
            self.phase = "warming_up"
        elif self.phase == "warming_up" and self._sent is not None:
            self._note(answer, self._sent[1])
            self._sent = None
            self.phase = "ready"
        return self.phase == "ready"

    def step(self, snapshot: Snapshot, now_ns: int) -> Step:
        """Take in an answer, ask if it is time, and return what to command now.

        Raises:
            PolicyError: After ``MAX_FAILURES`` questions in a row have failed.
        """
        self._take_answer(now_ns)
        if self._inferences >= self.preset.stop.max_inferences:
            self.done = f"{self._inferences} inferences, as many as stop.max_inferences allows"
        elif not self._asker.busy and self.player.wants_chunk(now_ns):
            self._ask(self.player.ask(now_ns, snapshot.id), snapshot, now_ns)
        step = self.player.next(now_ns)
        self._watch_still(snapshot, step)
        if step.kind == "stop":
            self.done = self.done or "a chunk ran out, and chunks.on_empty is stop"
        return step

    def clear(self, reason: str) -> None:
        """Forget all chunks and the question under way: reset, stop, refusal, a new prompt."""
        self.player.clear(reason)
        self._asker.forget()
        self._sent = None
        self._still = 0

    def _ask(self, ticket: Ticket | None, snapshot: Snapshot, now_ns: int) -> None:
        prefix = self.player.committed(now_ns) if self.preset.chunks.prefix_key else None
        self._sent = (ticket, snapshot)
        first = ticket is None

        def finish(reply: Reply) -> Chunk:
            if first:
                check_chunk(self.preset, reply.actions)
            return self.decoder.decode(reply.actions, snapshot)

        self._asker.infer(
            lambda: self._builder.build(snapshot, prefix=prefix), snapshot.id, now_ns, finish
        )

    def _take_answer(self, now_ns: int) -> None:
        sent = self._sent
        try:
            answer: Any = self._poll(now_ns)
            if answer is None or sent is None:
                return
            self._sent = None
            ticket, snapshot = sent
        except PolicyError:
            self._sent = None
            if sent is not None and sent[0] is not None:
                self.player.fail(sent[0])
            self._failures += 1
            if self._failures >= MAX_FAILURES:
                raise
            return
        self._failures = 0
        self._note(answer, snapshot)
        self.conduct.asked(answer.chunk)
        if ticket is not None:
            self.player.add(ticket, answer.chunk, now_ns, warmup=answer.warmup)

    def _poll(self, now_ns: int) -> Any:
        try:
            return self._asker.poll(now_ns)
        except NotFiniteError as error:
            self.conduct.not_finite = self.conduct.not_finite or str(error)
            raise

    def _note(self, answer: Answer, snapshot: Snapshot) -> None:
        self.inferences.append(Inference.of(answer, snapshot.observed_ns))
        self._inferences += not answer.warmup
        kept = self.timing.warmup_ms if answer.warmup else self.timing.roundtrip_ms
        kept.append(1e3 * answer.roundtrip_s)
        if not answer.warmup:
            self.timing.preprocess_ms.append(1e3 * answer.preprocess_s)
            for name, value in answer.reply.timing_ms.items():
                self.timing.server_ms.setdefault(name, []).append(value)

    def _watch_still(self, snapshot: Snapshot, step: Step) -> None:
        """Count steps with a measured pose that does not change, while the policy moves it."""
        rule, before, self._before = self.preset.stop, self._before, snapshot
        if not rule.still_steps or before is None or step.kind != "play":
            return
        now, then = snapshot.state, before.state
        turned = float(np.max(np.abs(now["joint_position"] - then["joint_position"])))
        moved = float(np.max(np.abs(now["gripper_width"] - then["gripper_width"])))
        still = turned <= rule.still_rad and moved <= rule.still_m
        self._still = self._still + 1 if still else 0
        if self._still == rule.still_steps:
            self.done = f"settled: the pose has not changed for {self._still} steps"

    def _speed(self, robot: RobotContract) -> np.ndarray[Any, np.dtype[np.float64]]:
        arm = robot.joint_speed if self.decoder.space == "joint" else _HAND_SPEED
        grips = len(self.decoder.columns.discrete)
        return np.concatenate([_SEAM_SPEED_SHARE * arm, np.ones(grips)])
