"""Run one node under dora: events in, handlers, stamped outputs out, an end with a reason."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from dora import Node as DoraNode

from interlock.messages import InterlockError, MessageError, encode
from interlock.nodes import _environment
from interlock.nodes._arrival import CLOCK, Arrival, clock_id
from interlock.nodes._dispatch import Dispatcher, Sent
from interlock.nodes._journal import Journal, print_traceback
from interlock.nodes._pump import STATES, Pump

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from interlock.nodes._node import Node

#: Every node has a timer of 200 ms or less. Two waits of this length in a row without any event (so
#: that a node that was itself suspended does not misjudge) mean that the daemon is gone.
SILENCE_S = 0.75
#: dora announces a closed input on another path than the data: it may come first.
CLOSE_DELAY_NS = 250_000_000
#: Time that the last messages of an ending node get to leave the process, in s.
LINGER_S = 0.1


class Loop:
    """The event loop of one node process.

    Args:
        node_class: The node to run.
        dora_node: A connected dora node.
        environ: The process environment.
    """

    def __init__(
        self, node_class: type[Node], dora_node: Any, environ: Mapping[str, str] = os.environ
    ) -> None:
        self._dora = dora_node
        self._context = _environment.context_of(dora_node, environ)
        self._journal = Journal(self._context.run_dir, self._context.node_id, self._warn)
        self._journal.touch()
        config = dora_node.node_config()
        settings = _environment.settings_of(node_class, self._context, environ)
        self._node = node_class(settings, self._context)
        inputs, outputs = config["inputs"] or {}, config["outputs"] or ()
        self._dispatch = Dispatcher(self._node, self._context.node_id, inputs, outputs, _now)
        self._open = {i for i in self._dispatch.sources if not self._dispatch.is_timer(i)}
        self._had_inputs = bool(self._open)
        self._closing: list[tuple[int, str]] = []
        self._failures: dict[str, str] = {}
        self._clock = clock_id()
        self._arrival = Arrival(dora_node, self._clock)
        self._silences = 0
        self._rejected = 0
        self._stop_ns = 0

    def run(self) -> int:
        """Serve until the node is done; return the exit code of the process."""
        try:
            self._send(self._dispatch.stamp(self._node.on_start(_now())))
            if self._node.slow:
                self._serve_pumped()
            else:
                self._serve()
        except InterlockError as error:
            self._node.failed = str(error)
        except Exception as error:
            self._node.failed = f"{type(error).__name__}: {error}".splitlines()[0]
            print_traceback()
        return self._end()

    def _end(self) -> int:
        try:
            self._send(self._dispatch.stamp(self._node.on_stop(_now())))
        except Exception as error:  # the end must be told, whatever a node does in it
            print_traceback()
            self._node.failed = self._node.failed or f"{type(error).__name__}: {error}"
        time.sleep(LINGER_S)
        if self._node.failed:
            self._journal.ended("failed", self._node.failed)
            self._log("error", self._node.failed)
            return 1
        finished = self._node.finished
        self._journal.ended("finished" if finished else "stopped", finished or "told to stop")
        return 0

    def _done(self) -> bool:
        stopping = self._stop_ns and _now() >= self._stop_ns
        return bool(self._node.finished or self._node.failed or stopping)

    def _next(self) -> dict[str, Any] | None:
        event: dict[str, Any] | None = self._dora.next(timeout=SILENCE_S)
        self._journal.touch()
        return event

    def _serve(self) -> None:
        while not self._done():
            event = self._next()
            if event is None:
                return
            event["received_ns"] = _now()
            self._handle(event)
            self._close_due()

    def _serve_pumped(self) -> None:
        newest_only = {
            name
            for name in self._open
            if issubclass(self._node.inputs.get(self._dispatch.port(name), object), STATES)
        }
        pump = Pump(self._next, newest_only)
        try:
            while not self._done():
                events = pump.take(timeout_s=0.1)
                if events is None:
                    return
                for event in events:
                    self._handle(event)
                    if self._done():
                        return
                self._close_due()
        finally:
            pump.stop(2 * SILENCE_S)

    def _handle(self, event: dict[str, Any]) -> None:
        kind = event["type"]
        if kind == "ERROR" and "imeout" in str(event.get("error", "")):
            self._silences += 1
            if self._silences >= 2 and not self._stop_ns:
                seconds = self._silences * SILENCE_S
                self._node.failed = (
                    f"the dora daemon is gone: no event for {seconds:.1f} s. "
                    "Start the dataflow again."
                )
            return
        self._silences = 0
        if kind == "ERROR" and "fatal" in str(event.get("error", "")):
            self._node.failed = (
                "the dora daemon is gone: it closed the connection. Start the dataflow again."
            )
            return
        match kind:
            case "INPUT":
                self._input(event)
            case "INPUT_CLOSED":
                self._closing.append((_now() + CLOSE_DELAY_NS, event["id"]))
            case "NODE_FAILED":
                self._node_failed(event.get("value"))
            case "STOP":
                self._stop_ns = _now() + CLOSE_DELAY_NS
            case "PARAM_UPDATE" | "RELOAD" | "ERROR":
                self._warn(f"ignored dora event {kind}: {str(event)[:200]}")

    def _input(self, event: dict[str, Any]) -> None:
        name, now_ns = event["id"], _now()
        if self._dispatch.is_timer(name):
            self._send(self._dispatch.tick(name, now_ns))
            return
        try:
            received = self._arrival.read(event, self._dispatch.sources[name])
            sent = self._dispatch.deliver(name, received, now_ns)
        except MessageError as error:
            self._rejected += 1
            if self._rejected <= 20:
                self._warn(f"{error} (message dropped)")
            return
        self._send(sent)

    def _node_failed(self, value: Any) -> None:
        if isinstance(value, dict):
            error = str(value.get("error", "")).strip().splitlines() or ["no reason given"]
            self._failures[str(value.get("source_node_id"))] = error[0][:200]

    def _close_due(self) -> None:
        now_ns = _now()
        due = [name for due_ns, name in self._closing if due_ns <= now_ns]
        if not due:
            return
        self._closing = [c for c in self._closing if c[0] > now_ns]
        for name in due:
            self._open.discard(name)
            source = self._dispatch.sources[name].rpartition("/")[0]
            why = f"died: {self._failures[source]}" if source in self._failures else "ended"
            self._send(self._dispatch.stamp(self._node.on_closed(name, why, now_ns)))
        if self._had_inputs and not self._open and not self._done():
            self._node.finished = "every node it listens to has ended"

    def _send(self, sent: Iterable[Sent]) -> None:
        for output, message, stamp in sent:
            payload, metadata = encode(message)
            metadata.update(stamp.to_metadata())
            metadata[CLOCK] = self._clock
            self._dora.send_output(output, payload, metadata)
            self._journal.tell(output, message)

    def _warn(self, text: str) -> None:
        self._log("warn", text)

    def _log(self, level: str, text: str) -> None:
        with contextlib.suppress(OSError, RuntimeError):  # dora may be gone
            self._dora.log(level, text)


def _now() -> int:
    return time.monotonic_ns()


def run(node_class: type[Node]) -> None:
    """Run a node until it is done and end the process with its exit code."""
    _environment.prepare(node_class.nice)
    dora_node = DoraNode()
    try:
        code = Loop(node_class, dora_node).run()
    except InterlockError as error:
        dora_node.log("error", str(error))
        sys.stderr.write(f"interlock: {error}\n")
        folder = _environment.run_dir(dora_node, os.environ)
        node_id = _environment.own_id(os.environ)
        Journal(folder, node_id, dora_node.log_warn).ended("failed", str(error))
        code = 1
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    # After a failure at once: a node of a dora that hangs would wait for it for ever.
    os._exit(code) if code else sys.exit(0)
