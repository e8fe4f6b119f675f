"""Admit a command whole, by its first rows, as the nearest acceptable one, or not at all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from interlock.gate.chain import reference_of
from interlock.gate.decision import admissible_rows
from interlock.gate.nearest import first_rows, nearest_acceptable
from interlock.gate.seal import seal
from interlock.gate.verdicts import verdict
from interlock.messages.command import AdmittedCommand, Command, Verdict

if TYPE_CHECKING:
    from interlock.gate.chain import Chain
    from interlock.gate.config import GateConfig
    from interlock.gate.decision import Reason
    from interlock.gate.judgement import Assessment, Judge, Question
    from interlock.gate.plan import Plan
    from interlock.messages.received import Received

_MS = 1_000_000
#: Prefixes of a chunk that are tried, each at most this share of the one before: time is short.
_TRIES = 6
_SHRINK = 0.8


@dataclass(frozen=True, kw_only=True)
class Run:
    """What binds this Gate to its run.

    Attributes:
        run_id: Id of the run; seals are bound to it.
        key: Secret that Gate and driver share.
        boot: Differs after every restart of the Gate.
    """

    run_id: str
    key: bytes
    boot: str = ""


class Admission:
    """Turns judgements into verdicts and sealed commands.

    Attributes:
        arm_task: Task that the motion being executed belongs to.
        admitted: Commands admitted so far.
        refused: Commands refused so far.
    """

    def __init__(self, config: GateConfig, run: Run, judge: Judge, chain: Chain) -> None:
        self._config = config
        self._run = run
        self._judge = judge
        self._chain = chain
        self.arm_task = ""
        self.admitted = 0
        self.refused = 0

    def decide(
        self, question: Question, received: Received[Command], now_ns: int
    ) -> tuple[Verdict, AdmittedCommand | None]:
        """Decide a command that its sender may send."""
        command = question.command
        found = self._judge.assess(question, now_ns)
        reasons, mode = found.reasons, self._config.mode
        if not reasons or (mode == "shadow" and found.plan is not None):
            return self._admit(question, received, found, reasons, len(command.targets))
        rows = admissible_rows(reasons, len(command.targets) - found.skipped)
        for _ in range(_TRIES):
            if rows <= 0:
                break
            part = replace(question, command=first_rows(command, rows + found.skipped))
            prefix = self._judge.assess(part, now_ns)
            if not prefix.reasons:
                return self._admit(part, received, prefix, reasons, rows + found.skipped)
            rows = min(rows - 1, int(rows * _SHRINK), admissible_rows(prefix.reasons, rows))
        offer = nearest_acceptable(self._judge, question, found, now_ns)
        if mode == "modify" and offer is not None:
            part = replace(question, command=offer)
            changed = self._judge.assess(part, now_ns)
            return self._admit(part, received, changed, reasons, len(offer.targets))
        return self.refuse(command, received, reasons, found, offer), None

    def _admit(
        self,
        question: Question,
        received: Received[Command],
        found: Assessment,
        reasons: tuple[Reason, ...],
        rows: int,
    ) -> tuple[Verdict, AdmittedCommand | None]:
        command, plan = question.command, found.plan
        assert plan is not None
        moves_arm = command.space != "gripper"
        admitted = self.send(plan, command.task, command.gripper_force_n, moves_arm=moves_arm)
        self.admitted += 1
        until_ns = plan.start_ns + int(self._config.commit_ms * _MS)
        answer = replace(
            verdict(received, self._config.mode, found, reasons),
            admitted=True,
            rows=rows,
            number=admitted.number,
            committed_until_ns=until_ns,
        )
        if reasons and self._config.mode == "modify":
            # What is executed in place of what was asked for.
            answer = replace(answer, nearest=command.targets, nearest_period_ns=command.period_ns)
        return answer, admitted

    def refuse(
        self,
        command: object,
        received: Received[Command],
        reasons: tuple[Reason, ...],
        found: Assessment | None = None,
        offer: Command | None = None,
    ) -> Verdict:
        """Return the verdict on a command of which nothing is sent."""
        self.refused += 1
        answer = verdict(received, self._config.mode, found, reasons)
        if offer is None:
            return answer
        return replace(answer, nearest=offer.targets, nearest_period_ns=offer.period_ns)

    def send(
        self, plan: Plan, task: str, force_n: float = 40.0, *, moves_arm: bool = True
    ) -> AdmittedCommand:
        """Seal a motion for the driver and note that it was sent."""
        command = seal(
            AdmittedCommand(
                run=self._run.run_id,
                number=self._chain.next_number,
                task=task,
                start_ns=plan.start_ns,
                continues=self._chain.continues_at(plan.start_ns),
                period_ns=plan.period_ns,
                position=plan.position,
                velocity=plan.velocity,
                acceleration=plan.acceleration,
                stop_index=plan.stop_index,
                gripper_m=plan.gripper_m,
                gripper_force_n=float(force_n),
                not_after_ns=plan.start_ns,
            ),
            self._run.key,
        )
        self._chain.sent(command, reference_of(plan, task) if moves_arm else self._chain.reference)
        if moves_arm:
            self.arm_task = task
        return command
