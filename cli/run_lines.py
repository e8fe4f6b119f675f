"""The lines of a run in the terminal: one per task, the same warning three times at most."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from interlock.cli.run_events import Told

#: How often a warning is shown that differs only in its numbers.
REPEATS = 3


class RunLines:
    """Chooses which lines of the event files to show.

    Args:
        began_ns: Start of the run, wall clock, in ns.
    """

    def __init__(self, began_ns: int) -> None:
        self._began_ns = began_ns
        self._shown: Counter[str] = Counter()
        self._tasks_told_by: set[str] = set()

    def line(self, told: Told) -> str:
        """Return the line for people; empty when there is none."""
        fields, text = told.fields, told.line
        if told.message == "Event" and fields.get("kind") == "task":
            self._tasks_told_by.add(told.node)
        own = f"{told.node}/" in str(fields.get("goal", "")) or told.node in self._tasks_told_by
        if told.message in ("Goal", "Result") and own:
            return ""  # its node has a line of its own for that
        if not text or re.match(r"warning: \S+/\S+ closed: ", text):
            return ""  # the end of a node is told once, by the outcome
        if fields.get("kind") == "warning":
            key = f"{told.node} {re.sub(r'[0-9.-]+', '#', text)}"
            self._shown[key] += 1
            if self._shown[key] > REPEATS:
                return ""
            if self._shown[key] == REPEATS:
                text += " (more of these are in the trace only)"
        return f"{(told.t_ns - self._began_ns) / 1e9:7.1f} s  {told.node:<10} {text}"
