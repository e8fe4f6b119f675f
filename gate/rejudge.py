"""Judge a recorded run again, with the same configuration or another.

A Gate's journal says what it acted on, when, and in which order; with the recorded messages that
is all that its verdicts follow from. With the same configuration they come out bit-identical.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.gate.errors import GateError
from interlock.messages.command import AdmittedCommand, Command, Verdict
from interlock.messages.robot import ObjectPoses, RobotState
from interlock.messages.task import Cancel, Heartbeat, Reset, Stop, TaskRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from interlock.gate.core import Gate
    from interlock.messages.received import Received
    from interlock.messages.task import Grant

    Find = Callable[[str, str, int, int], Received[Any] | None]

#: Fields of a verdict that depend on how fast the machine was.
_NOT_COMPARED = {"stage_us"}


class JournalError(GateError, ValueError):
    """A run that can't be judged again."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rejudged:
    """One recorded command with its verdict then and now.

    Attributes:
        before: The recorded verdict; None if it was not recorded.
        after: The verdict now.
        at_ns: When it was judged, in ns on the dataflow's clock.
    """

    before: Verdict | None
    after: Verdict
    at_ns: int

    @property
    def same(self) -> bool:
        """Whether both verdicts are bit-identical, but for the time they took."""
        return self.before is not None and not differences(self.before, self.after)


class Journal:
    """Notes what a Gate acts on, until it is told with the next status."""

    def __init__(self) -> None:
        self._entries: list[list[Any]] = []

    def message(self, received: Received[Any], now_ns: int, *, trusted: bool = False) -> None:
        """Note a message that was handed to the Gate."""
        stamp = received.stamp
        entry = [stamp.source, received.output, stamp.seq, stamp.observed_ns, trusted]
        self._entries.append(["message", now_ns, *entry])

    def note(self, what: str, now_ns: int, *details: str | int) -> None:
        """Note something else: ``tick``, ``stop``, ``reset`` or ``gone``."""
        self._entries.append([what, now_ns, *details])

    def take(self) -> str:
        """Return what was noted since the last time, as text."""
        entries, self._entries = self._entries, []
        return json.dumps(entries, separators=(",", ":")) if entries else ""


def read_journal(texts: Iterable[str]) -> Iterator[list[Any]]:
    """Yield the entries of the journals of a run's statuses.

    Raises:
        JournalError: If one of them is no journal.
    """
    for text in texts:
        try:
            entries = json.loads(text) if text else []
            for entry in entries:
                if not isinstance(entry[0], str) or type(entry[1]) is not int:
                    raise ValueError(entry)
                yield entry
        except (ValueError, TypeError, KeyError, IndexError, RecursionError) as error:
            raise JournalError(f"the Gate's journal is damaged: {text[:80]!r}") from error


def tokens_of(grants: Iterable[Grant]) -> dict[tuple[str, str], str]:
    """Return the tokens of a recorded run, by owner and request."""
    return {(g.owner, g.request): g.task for g in grants if g.task}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Recorded:
    """What a recorded Gate said.

    Attributes:
        find: Returns a recorded message by source, output, seq and observed_ns.
        verdicts: Verdicts by source and seq of the command.
        sent: Commands to the driver by number, with the time they were sent at; empty to let the
            Gate go its own way, as with the configuration of the recording.
    """

    find: Find
    verdicts: Mapping[tuple[str, int], Verdict]
    sent: Mapping[int, tuple[AdmittedCommand, int]]


def rejudge(gate: Gate, journal: Iterable[list[Any]], recorded: Recorded) -> Iterator[Rejudged]:
    """Hand a run to a Gate again; yield every command with its verdict then and now.

    Args:
        gate: A new Gate; its ``authority.recorded`` holds the tokens of the run.
        journal: As from ``read_journal``.
        recorded: What it said then.

    Raises:
        JournalError: If a message that the Gate acted on was not recorded.
    """
    for what, now_ns, *details in journal:
        number = gate.chain.next_number
        if what != "message":
            _act(gate, what, now_ns, details)
            _follow(gate, number, _brakes(recorded, number, now_ns), recorded)
            continue
        received = _find(recorded, details)
        if isinstance(received.message, Command):
            before = recorded.verdicts.get((received.stamp.source, received.stamp.seq))
            after, _ = gate.judge(received, now_ns)
            said = -1 if before is None else before.number
            _follow(gate, number, [said] if said >= 0 else [], recorded)
            yield Rejudged(before=before, after=after, at_ns=now_ns)
        else:
            _hand(gate, received, now_ns, trusted=bool(details[4]))
            _follow(gate, number, _brakes(recorded, number, now_ns), recorded)


def _find(recorded: Recorded, details: list[Any]) -> Received[Any]:
    source, output, seq, observed_ns, _ = details
    received = recorded.find(source, output, seq, observed_ns)
    if received is None:
        raise JournalError(
            f"{source}/{output} number {seq} is not in the trace, but the Gate acted on it. "
            "The trace must subscribe to every output."
        )
    return received


def _brakes(recorded: Recorded, number: int, now_ns: int) -> list[int]:
    """Return the recorded motions from a number on that no verdict stands for, sent by now."""
    judged = {v.number for v in recorded.verdicts.values()}
    found = []
    while number in recorded.sent and number not in judged and recorded.sent[number][1] <= now_ns:
        found.append(number)
        number += 1
    return found


def _follow(gate: Gate, number: int, numbers: list[int], recorded: Recorded) -> None:
    if recorded.sent:
        gate.chain.instead(number, [recorded.sent[n][0] for n in numbers if n in recorded.sent])


def _hand(gate: Gate, received: Received[Any], now_ns: int, *, trusted: bool) -> None:
    match received.message:
        case RobotState():
            gate.on_state(received, now_ns)
        case ObjectPoses():
            gate.on_objects(received, now_ns)
        case TaskRequest():
            gate.request(received, now_ns)
        case Heartbeat():
            gate.heartbeat(received, now_ns)
        case Cancel():
            gate.cancel(received, now_ns, trusted=trusted)
        case Stop():
            gate.stop(received.message, now_ns)
        case Reset():
            gate.reset(received.message, now_ns)


def _act(gate: Gate, what: str, now_ns: int, details: list[Any]) -> None:
    match what:
        case "tick":
            gate.tick(now_ns)
        case "stop":
            by, reason, category = details
            gate.stop(Stop(by=by, reason=reason, category=category), now_ns)
        case "reset":
            gate.reset(Reset(by=details[0]), now_ns)
        case "gone":
            gate.gone(details[0], now_ns, details[1])
        case _:
            raise JournalError(f"the Gate's journal names {what!r:.40}, which is unknown")


def differences(before: Verdict, after: Verdict) -> list[str]:
    """Return the names of the fields in which two verdicts are not bit-identical."""
    names = [f.name for f in dataclasses.fields(Verdict) if f.name not in _NOT_COMPARED]
    return [n for n in names if not _identical(getattr(before, n), getattr(after, n))]


def _identical(first: Any, second: Any) -> bool:
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return first.shape == second.shape and first.tobytes() == second.tobytes()
    return bool(first == second)
