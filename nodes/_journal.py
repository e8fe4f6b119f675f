"""What a node process leaves in the run folder for people and for `interlock start`.

``events/<node>.jsonl``: one line per Event, Result and Goal sent, and one when the node ends.
``alive/<node>``: the process id; touched while the node reads its inputs, removed when it returns.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import time
import traceback
from typing import TYPE_CHECKING, Any

from interlock.messages import Event, Goal, Result

if TYPE_CHECKING:
    from pathlib import Path

#: Message types that people want to see a line about.
TOLD: tuple[type, ...] = (Event, Result, Goal)
#: How often the alive file is touched, in s.
TOUCH_S = 0.4


class Journal:
    """Event lines and sign of life of one node.

    Args:
        run_dir: Folder of the run.
        node_id: Id of the node.
        complain: Called with one sentence when the folder can't be written (full disk).
    """

    def __init__(self, run_dir: Path, node_id: str, complain: Any) -> None:
        self._events = run_dir / "events" / f"{node_id}.jsonl"
        self._alive = run_dir / "alive" / node_id
        self._node_id = node_id
        self._complain = complain
        self._touched = 0.0
        self._complained = False

    def touch(self) -> None:
        """Show that the node still reads its inputs."""
        now = time.monotonic()
        if now - self._touched < TOUCH_S:
            return
        try:
            if self._touched == 0.0:
                self._alive.parent.mkdir(parents=True, exist_ok=True)
                self._alive.write_text(str(os.getpid()))
            else:
                os.utime(self._alive)
        except OSError as error:
            self._complain_once(self._alive, error)
        self._touched = now

    def tell(self, output: str, message: Any) -> None:
        """Write one line about a message, if it is of a kind that people want to see."""
        if isinstance(message, TOLD):
            fields = dataclasses.asdict(message)  # type: ignore[call-overload]
            self._line({"output": output, "message": type(message).__name__, **fields})

    def ended(self, status: str, reason: str) -> None:
        """Write the last line and take back the sign of life."""
        self._line({"message": "Ended", "status": status, "reason": reason})
        with contextlib.suppress(OSError):  # in a sandbox it is a mount, which can't be removed
            self._alive.unlink()

    def _line(self, fields: dict[str, Any]) -> None:
        line = {"t_ns": time.time_ns(), "node": self._node_id} | fields
        try:
            self._events.parent.mkdir(parents=True, exist_ok=True)
            with self._events.open("a") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            self._complain_once(self._events, error)

    def _complain_once(self, path: Path, error: OSError) -> None:
        if not self._complained:
            self._complained = True
            self._complain(f"cannot write {path}: {error.strerror}. Free space or mend its rights.")


def print_traceback() -> None:
    """Print the exception being handled, if anybody still reads our output."""
    with contextlib.suppress(OSError):
        traceback.print_exc()
