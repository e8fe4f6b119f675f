"""A failed run as evidence: which task failed, when it began, and what was sent in between."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from interlock.messages import (
    Cancel,
    Command,
    Event,
    Feedback,
    GateStatus,
    Goal,
    Grant,
    ObjectPoses,
    Received,
    Result,
    RobotState,
    Stop,
    TaskRequest,
    Verdict,
)

if TYPE_CHECKING:
    from interlock.operators.trace.reader import Trace

M = TypeVar("M")
#: A Result, and what led to it, may be reported by different nodes: allow for that much delay.
SLACK_NS = 300_000_000
#: Reports round the time that a task took.
ROUNDING_NS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What is to be explained.

    Attributes:
        goal: Id of the task that failed; empty when no task reported its end.
        status: Its status, e.g. ``failed``; ``no result`` when none was reported.
        code: Its machine-readable reason.
        reason: Its reason in words.
        since_ns: When the task began.
        at_ns: When it ended.
        source: Node that reported it; empty when none did.
    """

    goal: str
    status: str
    code: str
    reason: str
    since_ns: int
    at_ns: int
    source: str


class View:
    """The part of a trace that bears on one failure."""

    def __init__(self, trace: Trace, failure: Failure) -> None:
        self.trace = trace
        self.failure = failure
        self.start_ns, self.end_ns = trace.span_ns()

    def during(self, *types: type) -> list[Received[Any]]:
        """Return the messages of these types sent while the task ran."""
        since, until = self.failure.since_ns - SLACK_NS, self.failure.at_ns + SLACK_NS
        return [r for r in self._of(*types) if since <= r.stamp.sent_ns <= until]

    def within(self, *types: type) -> list[Received[Any]]:
        """Return the messages of these types from the begin of the task to its end, no later."""
        since, until = self.failure.since_ns - ROUNDING_NS, self.failure.at_ns
        return [r for r in self._of(*types) if since <= r.stamp.sent_ns <= until]

    def _of(self, *types: type) -> list[Received[Any]]:
        return [r for r in self._evidence if isinstance(r.message, types)]

    @cached_property
    def _evidence(self) -> list[Received[Any]]:
        return self.trace.of(*EVIDENCE)

    @cached_property
    def requests(self) -> dict[str, TaskRequest]:
        """Request id -> what was asked for."""
        return {r.message.request: r.message for r in self._of(TaskRequest)}

    @cached_property
    def tokens(self) -> set[str]:
        """Task tokens that were in use while the task ran."""
        found = {r.message.task for r in self.during(Command)}
        owner = self.failure.goal.rpartition("/")[0]
        for grant in self.during(Grant):
            if grant.message.task and owner in ("", grant.message.owner):
                found.add(grant.message.task)
        return found - {""}

    @cached_property
    def owners(self) -> set[str]:
        """Owners of the task, and the node that the first part of an owner's name stands for."""
        found = {r.message.owner for r in self.during(Grant) if r.message.task in self.tokens}
        found |= {g.message.owner for g in self._of(Goal) if g.message.goal == self.failure.goal}
        return found | {owner.partition("/")[0] for owner in found}

    def title(self, token: str) -> str:
        """Return what a task token stands for, for people."""
        for grant in self._of(Grant):
            if grant.message.task == token and grant.message.request in self.requests:
                return repr(self.requests[grant.message.request].name)
        return f"task {token}"

    def touched(self) -> set[str]:
        """Return the objects that the task was allowed to touch."""
        found: set[str] = set()
        for grant in self._of(Grant):
            request = self.requests.get(grant.message.request)
            if request is not None and grant.message.task in self.tokens:
                found.update(request.touches)
        return found

    def at(self, time_ns: int) -> str:
        """Return a time as people read it: seconds since the start of the run."""
        return f"{(time_ns - self.start_ns) / 1e9:.2f} s"


EVIDENCE = (
    Cancel,
    Command,
    Event,
    Feedback,
    GateStatus,
    Goal,
    Grant,
    ObjectPoses,
    Result,
    RobotState,
    Stop,
    TaskRequest,
    Verdict,
)


def failures(trace: Trace) -> list[Failure]:
    """Return every task that did not succeed, the last one first.

    A task that nobody finished and nobody reported about, or a run without any result, is a
    failure as well.
    """
    results = trace.of(Result)
    found = [_failed(trace, r) for r in results if r.message.status != "succeeded"]
    start_ns, end_ns = trace.span_ns()
    asked_ns, told_ns = unfinished(trace)
    if end_ns and (told_ns or not results) and not (found and found[-1].at_ns > told_ns):
        found.append(
            Failure(
                goal="",
                status="no result",
                code="",
                reason="",
                since_ns=asked_ns or start_ns,
                at_ns=end_ns,
                source="",
            )
        )
    return found[::-1]


def unfinished(trace: Trace) -> tuple[int, int]:
    """Return when a task that nobody finished was asked for, and when it was last heard of.

    Of several the last one; (0, 0) when there is none.
    """
    heard: dict[str, tuple[int, int]] = {}
    for received in trace.of(Grant):
        grant, sent_ns = received.message, received.stamp.sent_ns
        if grant.state in ("granted", "queued"):
            heard[grant.task] = (heard.get(grant.task, (sent_ns, 0))[0], sent_ns)
        elif grant.state == "ended":
            heard.pop(grant.task, None)
    return max(heard.values(), key=lambda times: times[1], default=(0, 0))


def ended_well(trace: Trace) -> bool:
    """Return True when the last task that reported its end succeeded and none came after it."""
    results = trace.of(Result)
    if not results or results[-1].message.status != "succeeded":
        return False
    return unfinished(trace)[1] < results[-1].stamp.sent_ns


def _failed(trace: Trace, received: Received[Result]) -> Failure:
    result = received.message
    return Failure(
        goal=result.goal,
        status=result.status,
        code=result.code,
        reason=result.reason,
        since_ns=began(trace, received),
        at_ns=received.stamp.sent_ns,
        source=received.stamp.source,
    )


def began(trace: Trace, received: Received[Result]) -> int:
    """Return when a task began: from its own report, its first message, or the run's start."""
    took_s = details(received.message.data).get("took_s")
    if isinstance(took_s, int | float) and took_s >= 0:
        return received.stamp.sent_ns - int(took_s * 1e9)
    for first in trace.messages(types=[Goal, Feedback], task=received.message.goal):
        return first.stamp.sent_ns
    return trace.span_ns()[0]


def details(text: str) -> dict[str, Any]:
    """Return the JSON object in a text field; empty when it holds none."""
    try:
        data = json.loads(text)
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A cause that the trace shows.

    Attributes:
        cause: Its name, one of ``CAUSES`` in ``explain.py``.
        text: Sentences that say what happened, with times, values and names.
        rests_on: The message whose basis leads on to the observation; None where there is none.
    """

    cause: str
    text: str
    rests_on: Received[Any] | None = None


def quoted(reason: str) -> str:
    """Return a reason in brackets, without its full stop; empty for none."""
    return f" ({reason.rstrip('. ')})" if reason else ""
