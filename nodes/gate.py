"""Gate node: judges every command and is the only one that sends to the driver.

Inputs:   state, objects, command (also command_left, ...), request, heartbeat, cancel,
          operator_stop, operator_reset, tick.
Outputs:  command (AdmittedCommand, to the driver), verdict, grant, status, event.
"""

from __future__ import annotations

import os
import queue
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from interlock.gate.control import socket_path
from interlock.gate.graph import require_only_way
from interlock.gate.rejudge import Journal
from interlock.messages import (
    AdmittedCommand,
    Cancel,
    Command,
    Event,
    GateStatus,
    Grant,
    Heartbeat,
    ObjectPoses,
    Output,
    Received,
    Reset,
    RobotState,
    Stop,
    TaskRequest,
    Verdict,
    owned,
)
from interlock.nodes._commanders import Commanders, sources
from interlock.nodes._gate_compose import build_gate, gate_config, gate_run
from interlock.nodes._gate_socket import GateSocket
from interlock.nodes._node import Context, Node

if TYPE_CHECKING:
    from collections.abc import Iterable

    from interlock.gate import Reply

#: Set by `interlock start`: dora then waits 20 ms before it drops a message.
OVERLAY_VARIABLE = "DORA_ZENOH_CONFIG_OVERLAY"
_NO_OVERLAY = f"gate: {OVERLAY_VARIABLE} is not set: messages may be lost; use `interlock start`"
_OUTPUT_OF = {AdmittedCommand: "command", Grant: "grant", Event: "event"}
_STATUS_EVERY_NS = 100_000_000


class GateNode(Node):
    """Composes the Gate with a robot model and a scene; everything it decides is in gate/."""

    @dataclass(frozen=True, kw_only=True)
    class Settings:
        """What the dataflow may set.

        Attributes:
            config: Shipped configuration (``default``, ``people``, ``shadow``), or a file.
            scene: Shipped scene, or the path of a scene file; it says what stands where.
            mode: ``enforce``, ``shadow`` or ``modify`` in place of the configuration's.
            operators: Ids of nodes that may cancel any task, with commas between.
        """

        config: str = "default"
        scene: str = "tabletop"
        mode: str = ""
        operators: str = ""

    inputs: ClassVar = {
        "state": RobotState,
        "objects": ObjectPoses,
        "command": Command,
        "request": TaskRequest,
        "heartbeat": Heartbeat,
        "cancel": Cancel,
        "operator_stop": Stop,
        "operator_reset": Reset,
    }
    nice: ClassVar = -10
    outputs: ClassVar = {
        "command": AdmittedCommand,
        "verdict": Verdict,
        "grant": Grant,
        "status": GateStatus,
        "event": Event,
    }

    def __init__(self, settings: Settings, context: Context) -> None:
        super().__init__(settings, context)
        # First of all, so that a stop counts while everything else is still starting.
        self._socket = None if context.lockstep else GateSocket(socket_path(context.run_id))
        config = gate_config(settings.config, context.dataflow_dir, settings.mode)
        if context.dataflow:
            require_only_way(context.dataflow, context.dataflow_dir, drivers=config.drivers)
        self._operators = {name.strip() for name in settings.operators.split(",")} - {""}
        clock_ns = None if context.lockstep else time.perf_counter_ns
        self.gate = build_gate(config, settings.scene, context, gate_run(context), clock_ns)
        self._commanders = Commanders(sources(context))
        self._basis: dict[str, Any] = {}
        self._journal = Journal()
        self._status: GateStatus | None = None
        self._status_ns = -_STATUS_EVERY_NS

    def on_start(self, now_ns: int) -> Iterable[Output]:
        """Say what is checked, and warn when messages may be lost silently."""
        names = ", ".join(self.gate.config.checks) or "none: every command is refused"
        yield _event("task", f"gate: mode {self.gate.config.mode}, checks {names}")
        if not self.context.lockstep and not os.environ.get(OVERLAY_VARIABLE):
            yield _event("warning", _NO_OVERLAY)
        yield from self._tell(now_ns)

    def on_state(self, received: Received[RobotState], now_ns: int) -> Iterable[Output]:
        """Take the robot's state."""
        own = replace(received, message=owned(received.message))
        self._basis["state"] = received.basis
        self._journal.message(received, now_ns)
        yield from self._send(self.gate.on_state(own, now_ns))
        yield from self._tell(now_ns)

    def on_objects(self, received: Received[ObjectPoses], now_ns: int) -> Iterable[Output]:
        """Take where objects are; stop if one has come into the way."""
        self._basis["objects"] = received.basis
        self._journal.message(received, now_ns)
        yield from self._send(self.gate.on_objects(received, now_ns))

    def on_command(self, received: Received[Command], now_ns: int) -> Iterable[Output]:
        """Judge a command and answer with a verdict."""
        yield from self._operator(now_ns)
        self._journal.message(received, now_ns)
        own = replace(received, message=owned(received.message))
        basis = (received.basis, *self._basis.values())
        verdict, admitted = self.gate.judge(own, now_ns)
        if admitted is not None:
            yield Output(output="command", message=admitted, basis=basis)
        yield Output(output="verdict", message=verdict, basis=basis)

    def on_request(self, received: Received[TaskRequest], now_ns: int) -> Iterable[Output]:
        """Take a request for a task."""
        self._journal.message(received, now_ns)
        yield from self._send(self.gate.request(received, now_ns), received)
        yield from self._tell(now_ns)

    def on_heartbeat(self, received: Received[Heartbeat], now_ns: int) -> Iterable[Output]:
        """Take a sign of life."""
        self._journal.message(received, now_ns)
        self.gate.heartbeat(received, now_ns)
        return ()

    def on_cancel(self, received: Received[Cancel], now_ns: int) -> Iterable[Output]:
        """End a task."""
        trusted = received.stamp.source in self._operators
        self._journal.message(received, now_ns, trusted=trusted)
        yield from self._send(self.gate.cancel(received, now_ns, trusted=trusted), received)
        yield from self._tell(now_ns)

    def on_operator_stop(self, received: Received[Stop], now_ns: int) -> Iterable[Output]:
        """Stop and latch."""
        self._journal.message(received, now_ns)
        yield from self._send(self.gate.stop(received.message, now_ns), received)
        yield from self._tell(now_ns)

    def on_operator_reset(self, received: Received[Reset], now_ns: int) -> Iterable[Output]:
        """Release the stop."""
        self._journal.message(received, now_ns)
        yield from self._send(self.gate.reset(received.message, now_ns), received)
        yield from self._tell(now_ns)

    def on_tick(self, now_ns: int) -> Iterable[Output]:
        """Look at leases and monitors; end when nobody is left to command."""
        yield from self._operator(now_ns)
        self._journal.note("tick", now_ns)
        yield from self._send(self.gate.tick(now_ns))
        yield from self._tell(now_ns)
        at_rest = self.gate.status(now_ns).at_rest
        self.finished, self.failed = self._commanders.end(at_rest=at_rest, now_ns=now_ns)

    def on_closed(self, input_id: str, reason: str, now_ns: int) -> Iterable[Output]:
        """Revoke what the node behind an input owned."""
        source = sources(self.context).get(input_id, "")
        self._commanders.closed(input_id, source, reason, now_ns)
        if source and input_id.startswith(("command", "request", "heartbeat")):
            why = f"node {source} {reason}"
            self._journal.note("gone", now_ns, source, why)
            yield from self._send(self.gate.gone(source, now_ns, why))
            yield from self._tell(now_ns)

    def on_stop(self, now_ns: int) -> Iterable[Output]:
        """The run ends: bring the arm to rest, unless it is, and stop listening."""
        self._status = None
        yield from self._tell(now_ns)
        if not self.gate.status(now_ns).at_rest:
            stop = Stop(by="the end of the run", category=2)
            yield from self._send(self.gate.stop(stop, now_ns))
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _operator(self, now_ns: int) -> Iterable[Output]:
        """Act on what an operator has said over the socket."""
        while self._socket is not None:
            try:
                asked = self._socket.asked.get_nowait()
            except queue.Empty:
                return
            match asked.request:
                case Stop(by=by, reason=reason, category=category):
                    self._journal.note("stop", now_ns, by, reason, category)
                    yield from self._send(self.gate.stop(asked.request, now_ns))
                case Reset(by=by):
                    self._journal.note("reset", now_ns, by)
                    yield from self._send(self.gate.reset(asked.request, now_ns))
            asked.answer({"ok": True, **asdict(self.gate.status(now_ns))})

    def _send(
        self, replies: Iterable[Reply], cause: Received[Any] | None = None
    ) -> Iterable[Output]:
        basis = () if cause is None else (cause.basis,)
        for reply in replies:
            yield Output(output=_OUTPUT_OF[type(reply)], message=reply, basis=basis)

    def _tell(self, now_ns: int) -> Iterable[Output]:
        """Send the status when it has changed, and every 100 ms."""
        status = self.gate.status(now_ns)
        if status != self._status or now_ns - self._status_ns >= _STATUS_EVERY_NS:
            self._status, self._status_ns = status, now_ns
            told = replace(status, journal=self._journal.take())
            yield Output(output="status", message=told)


def _event(kind: str, text: str) -> Output:
    return Output(output="event", message=Event(kind=kind, text=text))


NODE = GateNode


def main() -> None:
    """Run under dora."""
    from interlock.nodes._dora import run

    run(NODE)


if __name__ == "__main__":
    main()
