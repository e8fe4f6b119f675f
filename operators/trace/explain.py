"""Say why a run failed: from the failure along the evidence, and along ``basis``, to its cause.

Each cause is one function that looks for its own evidence. Which ones are asked, and in which
order, follows from how the task ended. When none finds its evidence the answer is ``unknown``.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from interlock.messages import Command, Verdict
from interlock.operators.trace.causes_control import (
    about,
    cancelled,
    errors,
    last_refusal,
    lost_authority,
    operator_stop,
    refusal,
)
from interlock.operators.trace.causes_data import late_owner, late_policy, stale_data
from interlock.operators.trace.causes_policy import poor_answers, remarks
from interlock.operators.trace.causes_world import (
    dead_gate,
    dead_node,
    dead_owner,
    held,
    simulation_invalid,
    slipped,
)
from interlock.operators.trace.view import Failure, View, ended_well, failures

if TYPE_CHECKING:
    from collections.abc import Callable

    from interlock.messages import Received
    from interlock.operators.trace.reader import Trace
    from interlock.operators.trace.view import Finding

    Cause = Callable[[View], Finding | None]

#: Cause -> what people call it.
CAUSES = {
    "operator_stop": "operator stop",
    "simulation_invalid": "invalid simulation",
    "dead_node": "dead node",
    "lost_authority": "lost authority",
    "cancelled": "cancelled",
    "stale_data": "stale data",
    "late_policy": "late policy",
    "refusal": "refused by the Gate",
    "policy_output": "the policy's answers",
    "slipped": "slipped object",
    "unknown": "unknown",
}
#: These end every task, whatever it was doing.
ALWAYS: tuple[Cause, ...] = (operator_stop, simulation_invalid)
#: How the task ended -> causes to look for, in this order.
BY_CODE: dict[str, tuple[Cause, ...]] = {
    "stale_data": (dead_node, stale_data),
    "authority_lost": (dead_gate, late_owner, cancelled, lost_authority),
    "slipped": (slipped,),
    "empty_grasp": (stale_data, slipped),
    "cancelled": (dead_owner, late_owner, cancelled),
    "not_at_rest": (dead_node,),
}
#: What the Gate's last refusal is about -> causes to look for.
BY_REFUSAL: dict[str, tuple[Cause, ...]] = {
    "stop": (),
    "authority": (dead_gate, late_owner, cancelled, lost_authority),
    "late": (late_policy,),
    "data": (dead_node, late_policy, stale_data),
    "motion": (poor_answers, refusal),
}
OTHERWISE: tuple[Cause, ...] = (
    dead_node,
    poor_answers,
    late_owner,
    cancelled,
    lost_authority,
    slipped,
    late_policy,
    stale_data,
    held,
)
#: Steps that the walk along ``basis`` takes at most.
MAX_STEPS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a task failed.

    Attributes:
        cause: A key of ``CAUSES``; ``unknown`` when the trace does not show it.
        text: One paragraph for people.
        failure: What was explained; None when nothing failed.
        basis: The messages from the decision back to the observation, as ``node/output #seq``.
    """

    cause: str
    text: str
    failure: Failure | None
    basis: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return asdict(self)


def explain(trace: Trace, *, goal: str | None = None) -> Explanation:
    """Explain the last failure of a run, or the one of a goal.

    Args:
        trace: The trace of the run.
        goal: Id of the task to explain; None for the last one that failed, if the run ended badly.
    """
    found = [f for f in failures(trace) if goal in (None, f.goal)]
    if not found or (goal is None and ended_well(trace)):
        what = "The run" if goal is None else f"Task {goal}"
        said = remarks(trace)
        text = " ".join([f"{what} did not fail.", *said])
        return Explanation(cause="policy_output" if said else "", text=text, failure=None)
    view = View(trace, found[0])
    for cause in (*ALWAYS, *_causes(view)):
        finding = cause(view)
        if finding is not None:
            chain = _chain(view, finding.rests_on)
            parts = (_opening(view, finding.text), finding.text, _walk(view, chain))
            return Explanation(
                cause=finding.cause,
                text=" ".join(p for p in parts if p),
                failure=view.failure,
                basis=tuple(_ref(r) for r in chain),
            )
    return Explanation(
        cause="unknown", text=f"{_opening(view)} {_known(view)}", failure=view.failure
    )


def _causes(view: View) -> tuple[Cause, ...]:
    code = view.failure.code
    if code in BY_CODE:
        return BY_CODE[code]
    verdict = last_refusal(view)
    if verdict is not None:
        chosen = BY_REFUSAL[about(verdict.message.codes)]
        return (
            chosen
            if code == "refused" or view.failure.status == "refused"
            else (
                *chosen,
                *(c for c in OTHERWISE if c not in chosen),
            )
        )
    return OTHERWISE


def _opening(view: View, rest: str = "") -> str:
    """Say what failed, and the reason that was reported unless the rest says it as well."""
    failure = view.failure
    if failure.status == "no result":
        return f"The run ended at {view.at(failure.at_ns)} and no task had reported a result."
    words = {"failed": "failed", "cancelled": "was cancelled", "refused": "was refused"}
    how = words.get(failure.status, f"ended as {failure.status}")
    reason = failure.reason.rstrip(".")
    reason = f": {reason}" if reason and reason not in rest else ""
    return f"Task {failure.goal} {how} at {view.at(failure.at_ns)}{reason}."


def _chain(view: View, received: Received[Any] | None) -> list[Received[Any]]:
    """Follow the oldest observation from a message back to where it came from."""
    chain: list[Received[Any]] = []
    while received is not None and len(chain) < MAX_STEPS:
        chain.append(received)
        basis = received.stamp.basis
        # Of two with the same observation, the one that took the longer way here.
        oldest = min(basis, key=lambda b: (b.observed_ns, -b.received_ns)) if basis else None
        received = view.trace.find(oldest) if oldest else None
    return chain


def _ref(received: Received[Any]) -> str:
    return f"{received.stamp.source}/{received.output} #{received.stamp.seq}"


def _walk(view: View, chain: list[Received[Any]]) -> str:
    """Say what the deciding message rests on, and how old that was."""
    if len(chain) < 2:
        return ""
    first, last = chain[0].stamp, chain[-1].stamp
    steps = ", from ".join(_ref(r) for r in chain[1:])
    age_ms = (first.sent_ns - last.observed_ns) / 1e6
    return (
        f"{_ref(chain[0])} was computed from {steps}, observed at {view.at(last.observed_ns)}, "
        f"{age_ms:.0f} ms before."
    )


def _known(view: View) -> str:
    """Say what the trace does show, when it shows no cause."""
    commands, verdicts = view.during(Command), view.during(Verdict)
    refused = sum(1 for v in verdicts if not v.message.admitted)
    facts = f"{len(commands)} commands, {refused} refused"
    told = errors(view)
    last = f"; the last warning was: {told[-1].message.text}" if told else ""
    return f"The trace does not show why ({facts}{last})."
