"""What a person wants to see of a run first: its tasks, its commands and their verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from interlock.messages import Event, Goal, Grant, Result, TaskRequest
from interlock.operators.trace.join import stories
from interlock.operators.trace.view import began

if TYPE_CHECKING:
    from interlock.messages import Received
    from interlock.operators.trace.join import Story
    from interlock.operators.trace.reader import Trace

#: A task's result and the line about it leave their node in one step.
SAME_STEP_NS = 50_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRow:
    """One task that reported its end.

    Attributes:
        goal: Its id.
        name: What it is, for people.
        status: How it ended.
        code: Machine-readable reason.
        reason: Why, in words.
        began_s: When it began, in s since the start of the run.
        took_s: How long it took, in s.
    """

    goal: str
    name: str
    status: str
    code: str
    reason: str
    began_s: float
    took_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRow:
    """One command and what became of it.

    Attributes:
        at_s: When it was sent, in s since the start of the run.
        source: Node that sent it.
        seq: Its number.
        task: Its token.
        title: What the token stands for; empty if unknown.
        what: Space and rows, e.g. ``joint x 1``.
        age_ms: Age of its oldest observation when it was sent, in ms; -1 without a basis.
        verdict: ``admitted``, ``refused``, ``rows 3 of 10`` or ``no verdict``.
        codes: The Gate's reasons.
        sentence: The Gate's sentence.
        executed: True when the robot was seen executing it.
    """

    at_s: float
    source: str
    seq: int
    task: str
    title: str
    what: str
    age_ms: float
    verdict: str
    codes: tuple[str, ...]
    sentence: str
    executed: bool

    @property
    def failed(self) -> bool:
        """True when it did not get through whole."""
        return self.verdict != "admitted"


def task_rows(trace: Trace) -> list[TaskRow]:
    """Return every task that reported its end, in the order in which they ended."""
    start_ns = trace.span_ns()[0]
    goals = {r.message.goal: r.message.skill for r in trace.of(Goal)}
    results = trace.of(Result)
    found = []
    for received, told in zip(results, _told(trace, results), strict=True):
        result, since_ns = received.message, began(trace, received)
        found.append(
            TaskRow(
                goal=result.goal,
                name=goals.get(result.goal) or told,
                status=result.status,
                code=result.code,
                reason=result.reason,
                began_s=max(0, since_ns - start_ns) / 1e9,
                took_s=(received.stamp.sent_ns - since_ns) / 1e9,
            )
        )
    return found


def _told(trace: Trace, results: list[Received[Result]]) -> list[str]:
    """Return the name of each result's task, from the line that its node sent with it.

    Several tasks may end in one step: lines and results then come in the same order.
    """
    lines = [r for r in trace.of(Event) if r.message.kind == "task"]
    return [_take(lines, result) for result in results]


def _take(lines: list[Received[Event]], result: Received[Result]) -> str:
    for i, line in enumerate(lines):
        near = abs(line.stamp.sent_ns - result.stamp.sent_ns) < SAME_STEP_NS
        name, _, rest = line.message.text.partition(": ")
        same = line.stamp.source == result.stamp.source
        if near and same and rest.startswith(result.message.status):
            del lines[i]
            return name
    return ""


def command_rows(trace: Trace, *, task: str | None = None) -> list[CommandRow]:
    """Return every command with its verdict, in the order in which they were sent.

    Args:
        trace: The trace.
        task: Only commands of this token, or of a task of this name.
    """
    titles = _titles(trace)
    start_ns = trace.span_ns()[0]
    rows = [_row(story, titles, start_ns) for story in stories(trace)]
    return [r for r in rows if task is None or task in (r.task, r.title)]


def _titles(trace: Trace) -> dict[str, str]:
    names = {r.message.request: r.message.name for r in trace.of(TaskRequest)}
    return {
        r.message.task: names.get(r.message.request, "") for r in trace.of(Grant) if r.message.task
    }


def _row(story: Story, titles: dict[str, str], start_ns: int) -> CommandRow:
    command, stamp = story.command.message, story.command.stamp
    verdict = story.verdict.message if story.verdict else None
    oldest = min((b.observed_ns for b in stamp.basis), default=None)
    count = len(command.targets)
    return CommandRow(
        at_s=(stamp.sent_ns - start_ns) / 1e9,
        source=stamp.source,
        seq=stamp.seq,
        task=command.task,
        title=titles.get(command.task, ""),
        what=f"{command.space} x {count}" if count else command.space,
        age_ms=-1.0 if oldest is None else (stamp.sent_ns - oldest) / 1e6,
        verdict=_word(story, count),
        codes=verdict.codes if verdict else (),
        sentence=verdict.sentence if verdict else "",
        executed=story.state is not None,
    )


def _word(story: Story, count: int) -> str:
    if story.verdict is None:
        return "no verdict"
    verdict = story.verdict.message
    if not verdict.admitted:
        return "refused"
    return f"rows {verdict.rows} of {count}" if 0 < verdict.rows < count else "admitted"
