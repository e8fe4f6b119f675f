"""Join what belongs together: a command, its verdict, what was admitted, and what the robot did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from interlock.messages import AdmittedCommand, Command, RobotState, Verdict

if TYPE_CHECKING:
    from interlock.messages import Received
    from interlock.operators.trace.reader import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What became of one command.

    Attributes:
        command: The command.
        verdict: The Gate's answer; None if there is none in the trace.
        admitted: What the Gate sent the driver; None if refused or missing.
        state: The first robot state that executes it; None if it never was.
    """

    command: Received[Command]
    verdict: Received[Verdict] | None = None
    admitted: Received[AdmittedCommand] | None = None
    state: Received[RobotState] | None = None


def stories(trace: Trace, *, task: str | None = None) -> list[Story]:
    """Return what became of every command, in the order in which they were sent."""
    verdicts = _by(trace.of(Verdict), lambda v: (v.source, v.seq))
    admitted = _by(trace.of(AdmittedCommand), lambda a: a.number)
    states = _first_states(trace)
    found = []
    for command in trace.messages(types=[Command], task=task):
        stamp = command.stamp
        verdict = _next(verdicts.get((stamp.source, stamp.seq), []), stamp.sent_ns)
        number = verdict.message.number if verdict and verdict.message.admitted else -1
        sealed = _near(admitted.get(number, []), verdict) if number >= 0 else None
        state = _next(states.get(number, []), sealed.stamp.sent_ns) if sealed else None
        found.append(Story(command=command, verdict=verdict, admitted=sealed, state=state))
    return found


def _by(messages: list[Received[Any]], key: Any) -> dict[Any, list[Received[Any]]]:
    found: dict[Any, list[Received[Any]]] = {}
    for received in messages:
        found.setdefault(key(received.message), []).append(received)
    return found


def _next(messages: list[Received[Any]], sent_ns: int) -> Received[Any] | None:
    """Return the first message sent at or after a time; numbers repeat when a node restarts."""
    return next((m for m in messages if m.stamp.sent_ns >= sent_ns), None)


def _near(messages: list[Received[Any]], verdict: Received[Any] | None) -> Received[Any] | None:
    if verdict is None:
        return None
    sent_ns = verdict.stamp.sent_ns
    return min(messages, key=lambda m: abs(m.stamp.sent_ns - sent_ns), default=None)


def _first_states(trace: Trace) -> dict[int, list[Received[RobotState]]]:
    found: dict[int, list[Received[RobotState]]] = {}
    before = -1
    for received in trace.messages(types=[RobotState]):
        number = received.message.executing
        if number >= 0 and number != before:
            found.setdefault(number, []).append(received)
        before = number
    return found
