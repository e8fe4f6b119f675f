"""The seven stages of judgement on one command, without changing anything.

The same function judges commands, their prefixes, candidates for the nearest acceptable command,
and recorded commands when a trace is judged again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from interlock.gate.decision import Finding, Reason
from interlock.gate.motion import Motion
from interlock.gate.proposal import STAGES, Proposal
from interlock.messages.command import Command

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from interlock.gate.chain import Chain
    from interlock.gate.config import GateConfig
    from interlock.gate.plan import Plan
    from interlock.gate.planner import Planner
    from interlock.gate.proposal import Check
    from interlock.gate.surroundings import Surroundings
    from interlock.messages.columns import Vector
    from interlock.messages.stamp import Basis


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A command to judge, with who sent it and what it rests on.

    Attributes:
        command: The command, well formed.
        source: Node that sent it.
        basis: The messages it was computed from.
        touches: Objects that its task may touch.
    """

    command: Command
    source: str
    basis: tuple[Basis, ...] = ()
    touches: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Assessment:
    """What was found.

    Attributes:
        plan: The motion; None when none can be built.
        skipped: Rows left out because they were due before the start.
        findings: Everything the checks found, in order.
        stage_us: Time taken by each stage, in us; empty without a clock.
    """

    plan: Plan | None
    skipped: int
    findings: tuple[Finding, ...]
    stage_us: tuple[float, ...] = ()

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Why it is refused; empty when it is not."""
        return tuple(f.reason for f in self.findings if f.reason is not None)


class Judge:
    """Runs the configured checks.

    Args:
        config: Configuration.
        checks: Its checks.
        planner: Builds motions.
        chain: What the driver executes.
        surroundings: What the Gate knows of the world.
        clock_ns: Measures how long judging takes; None measures nothing.
    """

    def __init__(
        self,
        config: GateConfig,
        checks: Sequence[Check],
        *,
        planner: Planner,
        chain: Chain,
        surroundings: Surroundings,
        clock_ns: Callable[[], int] | None = None,
    ) -> None:
        self._checks = {stage: [c for c in checks if c.stage == stage] for stage in STAGES}
        self._any = bool(checks)
        self._clock_ns = clock_ns or (lambda: 0)
        self._planner = planner
        self._surroundings = surroundings
        self.motion = Motion(config, planner, chain, surroundings.robot)

    def assess(self, question: Question, now_ns: int) -> Assessment:
        """Judge a command at a time, from stage three on."""
        self._surroundings.at(now_ns, question.touches)
        times = [self._clock_ns()]
        plan, skipped, findings = self.motion.build(question.command, now_ns)
        proposal = self._proposal(question, plan, now_ns)
        if not self._any:
            findings.append(Finding(name="checks", reason=_NO_CHECKS))
        for stage in STAGES[2:]:
            for check in self._checks[stage] if question.command.space != "hold" else ():
                if plan is not None or not check.needs_plan:
                    findings += _run(check, proposal)
            times.append(self._clock_ns())
        return Assessment(
            plan=plan,
            skipped=skipped,
            findings=tuple(findings),
            stage_us=(0.0, 0.0, *np.diff(times) / 1e3) if times[-1] else (),
        )

    @property
    def gripper_range_m(self) -> tuple[float, float]:
        """Smallest and largest distance between the fingers, in m."""
        return self._surroundings.robot.gripper_width_range_m

    def start_of(self, command: Command, now_ns: int) -> Vector:
        """Return where a command would start, as one of its rows."""
        position = self.motion.start_position(now_ns)
        return position if command.space == "joint" else self._surroundings.robot.forward(position)

    def remaining(
        self, plan: Plan, touches: frozenset[str], now_ns: int, stages: Sequence[str]
    ) -> tuple[Finding, ...]:
        """Judge a motion that is being executed against what is known now."""
        self._surroundings.at(now_ns, touches)
        question = Question(command=_NOTHING, source="", touches=touches)
        proposal = self._proposal(question, plan, now_ns)
        checks = [c for stage in stages for c in self._checks[stage]]
        return tuple(f for check in checks for f in _run(check, proposal))

    def _proposal(self, question: Question, plan: Plan | None, now_ns: int) -> Proposal:
        known = self._surroundings
        return Proposal(
            command=question.command,
            source=question.source,
            basis=question.basis,
            now_ns=now_ns,
            limits=self._planner.limits,
            robot=known.robot,
            planner=self._planner,
            clearance=known.clearance,
            people=known.people,
            levers=known.levers,
            plan=plan,
            state_observed_ns=known.state_observed_ns,
            sightings=known.sightings,
            touches=question.touches,
        )


def _run(check: Check, proposal: Proposal) -> list[Finding]:
    try:
        return list(check(proposal))
    except Exception as error:
        # A check that fails is no permission.
        reason = Reason(
            code="check_failed",
            sentence=f"The check {check.name} failed: {type(error).__name__}: {error!s:.80}",
            way_out="Report this; the command was refused.",
        )
        return [Finding(name=check.name, reason=reason)]


_NOTHING = Command(task="", space="hold")
_NO_CHECKS = Reason(
    code="no_checks",
    sentence="The Gate has no checks configured and refuses everything",
    way_out="List checks under checks: in configs/gate/*.yml.",
)
