"""Experiment node: changes the simulated world as a person asks; it can't command the robot.

Inputs:   tick.
Outputs:  disturb (Event, to the simulator).
"""

from __future__ import annotations

import json
import queue
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from interlock.gate.keyfile import key_folder
from interlock.messages import Event, Output
from interlock.nodes._desk_socket import DeskSocket
from interlock.nodes._node import Context, Node

if TYPE_CHECKING:
    from collections.abc import Iterable

SUFFIX = ".sim.sock"


class ExperimentNode(Node):
    """Serves `interlock sim` on a unix socket of its own."""

    @dataclass(frozen=True, kw_only=True)
    class Settings:
        """No settings."""

    inputs: ClassVar = {}
    outputs: ClassVar = {"disturb": Event}

    def __init__(self, settings: Settings, context: Context) -> None:
        super().__init__(settings, context)
        path = key_folder() / f"{context.run_id}{SUFFIX}"
        self._socket = None if context.lockstep else DeskSocket(path)

    def on_tick(self, now_ns: int) -> Iterable[Output]:
        """Pass on what was asked."""
        while self._socket is not None:
            try:
                line = self._socket.lines.get_nowait()
            except queue.Empty:
                return
            if line.request is None:
                continue
            event = disturbance(line.request)
            if event is None:
                self._socket.answer(line, {"ok": False, "error": 'expected {"action", "values"}'})
                continue
            self._socket.answer(line, {"ok": True, "asked": event.text})
            yield Output(output="disturb", message=event)

    def on_stop(self, now_ns: int) -> Iterable[Output]:
        """Close the socket."""
        if self._socket is not None:
            self._socket.close()
        return ()


def disturbance(request: Any) -> Event | None:
    """Return the event that asks the simulator for a disturbance; None if it makes no sense."""
    if not isinstance(request, dict) or not isinstance(request.get("action"), str):
        return None
    values = request.get("values", {})
    if not isinstance(values, dict):
        return None
    action = request["action"]
    text = f"{action} {values.get('name', '')}".strip()[:100]
    return Event(
        kind="disturbance", text=text, data=json.dumps(values | {"action": request["action"]})
    )


NODE = ExperimentNode


def main() -> None:
    """Run under dora."""
    from interlock.nodes._dora import run

    run(NODE)


if __name__ == "__main__":
    main()
