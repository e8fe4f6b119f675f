"""What the nodes of a run say: their event files, as lines for people and as the end's reason."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

#: Kinds of Event that are worth a line in the terminal.
SHOWN = {"task", "warning", "error", "summary", "disturbance", "stop"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One line of an event file.

    Attributes:
        node: Node that wrote it.
        t_ns: When, wall clock, in ns.
        message: ``Event``, ``Result``, ``Goal`` or ``Ended``.
        fields: The fields of the message.
    """

    node: str
    t_ns: int
    message: str
    fields: dict[str, Any]

    @property
    def line(self) -> str:
        """The line for people; empty when it is not worth one."""
        get = self.fields.get
        if self.message == "Event" and get("kind") in SHOWN:
            mark = "" if get("kind") in ("task", "summary") else f"{get('kind')}: "
            return f"{mark}{get('text', '')}"
        if self.message == "Goal":
            return f"{get('skill', '?')} {_short(get('parameters', ''))}".rstrip()
        if self.message == "Result":
            reason = f": {get('reason')}" if get("reason") else ""
            return f"{get('goal', '?')} {get('status', '?')}{reason}"
        if self.message == "Ended" and get("status") == "failed":
            return f"failed: {get('reason', '')}"
        return ""


@dataclass(slots=True)
class EventFiles:
    """Follows the event files of a run.

    Attributes:
        folder: ``events`` in the run folder.
        ended: Node -> its last line, of those that ended in order.
        results: Every Result seen.
    """

    folder: Path
    ended: dict[str, Told] = field(default_factory=dict)
    results: list[Told] = field(default_factory=list)
    _read: dict[Path, int] = field(default_factory=dict)

    def new(self) -> list[Told]:
        """Return what was written since the last call, in order of time."""
        told = [t for file in sorted(self.folder.glob("*.jsonl")) for t in self._new_of(file)]
        told.sort(key=lambda t: t.t_ns)
        for item in told:
            if item.message == "Ended":
                self.ended[item.node] = item
            elif item.message == "Result":
                self.results.append(item)
        return told

    def _new_of(self, file: Path) -> list[Told]:
        start = self._read.get(file, 0)
        try:
            with file.open("rb") as opened:
                opened.seek(start)
                data = opened.read()
        except OSError:
            return []
        whole, newline, _ = data.rpartition(b"\n")
        self._read[file] = start + len(whole) + len(newline)
        return [t for line in whole.splitlines() if (t := _told(line)) is not None]


def _told(line: bytes) -> Told | None:
    try:
        fields = json.loads(line)
        return Told(
            node=str(fields.pop("node")),
            t_ns=int(fields.pop("t_ns")),
            message=str(fields.pop("message")),
            fields=fields,
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _short(parameters: str) -> str:
    """Return JSON parameters as words, e.g. ``object=cup_red``."""
    try:
        items = json.loads(parameters or "{}").items()
    except (ValueError, AttributeError):
        return parameters[:80]
    return " ".join(f"{k}={v}" for k, v in items)[:120]
