"""Run one node under dora: events in, handlers, stamped outputs out, an end with a reason."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from dora import Node as DoraNode

from interlock.messages import Event, Received, Result, Stamp, decode, encode
from interlock.messages.errors import InterlockError, MessageError
from interlock.nodes._dispatch import Dispatcher, Sent
from interlock.nodes._node import Context, Node
from interlock.nodes._pump import STATES, Pump
from interlock.nodes._settings import from_env

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: Every node has a timer, so silence for this long means that the daemon is gone.
SILENCE_S = 2.0
#: dora may announce a closed input before it delivers the last messages on it.
CLOSE_DELAY_NS = 250_000_000
#: Time that the last messages of an ending node get to leave the process.
LINGER_S = 0.15


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
        self._environ = environ
        self._context = _context(dora_node, environ)
        config = dora_node.node_config()
        settings = _settings(node_class, self._context, environ)
        self._node = node_class(settings, self._context)
        self._dispatch = Dispatcher(
            self._node, self._context.node_id, config["inputs"] or {}, config["outputs"] or ()
        )
        self._open = {i for i in self._dispatch.sources if not self._dispatch.is_timer(i)}
        self._had_inputs = bool(self._open)
        self._closing: list[tuple[int, str, str]] = []
        self._failures: dict[str, str] = {}
        self._rejected = 0

    def run(self) -> int:
        """Serve until the node is done; return the exit code of the process."""
        try:
            self._send(self._dispatch.stamp(self._node.on_start(_now()), _now()))
            if self._node.slow:
                self._serve_pumped()
            else:
                self._serve()
        finally:
            self._send(self._dispatch.stamp(self._node.on_stop(_now()), _now()))
            time.sleep(LINGER_S)
        if self._node.failed:
            self._say("error", self._node.failed)
            return 1
        return 0

    def _done(self) -> bool:
        return bool(self._node.finished or self._node.failed)

    def _serve(self) -> None:
        while not self._done():
            event = self._dora.next(timeout=SILENCE_S)
            if event is None:
                return
            event["received_ns"] = _now()
            if self._handle(event):
                return
            self._close_due()

    def _serve_pumped(self) -> None:
        newest_only = {
            name
            for name in self._open
            if issubclass(self._node.inputs.get(self._dispatch.port(name), object), STATES)
        }
        pump = Pump(lambda: self._dora.next(timeout=SILENCE_S), newest_only)
        while not self._done():
            events = pump.take(timeout_s=0.1)
            if events is None:
                return
            for event in events:
                if self._handle(event) or self._done():
                    return
            self._close_due()

    def _handle(self, event: dict[str, Any]) -> bool:
        """Handle one event; True when the run is over."""
        match event["type"]:
            case "INPUT":
                self._input(event)
            case "INPUT_CLOSED":
                due = _now() + CLOSE_DELAY_NS
                self._closing.append((due, event["id"], "ended"))
            case "NODE_FAILED":
                self._node_failed(event)
            case "STOP":
                return True
            case "ERROR" if "imeout" in str(event.get("error", "")):
                self._node.failed = (
                    f"dora has been silent for {SILENCE_S:.0f} s: its daemon is gone or stopped. "
                    "Start the dataflow again."
                )
                return True
            case "ERROR":
                self._say("warn", f"dora reports: {event.get('error')}")
        return False

    def _input(self, event: dict[str, Any]) -> None:
        name, now_ns = event["id"], _now()
        if self._dispatch.is_timer(name):
            self._send(self._dispatch.tick(name, now_ns))
            return
        try:
            received = self._received(name, event)
            sent = self._dispatch.deliver(name, received, now_ns)
        except MessageError as error:
            self._rejected += 1
            if self._rejected <= 20:
                self._say("warn", f"{error} (message dropped)")
            return
        self._send(sent)

    def _received(self, name: str, event: dict[str, Any]) -> Received[Any]:
        where = self._dispatch.sources[name]
        metadata = event["metadata"]
        message = decode(event["value"], metadata, where=where)
        source, _, output = where.rpartition("/")
        if "source" in metadata or "observed_ns" in metadata:
            stamp = Stamp.from_metadata(metadata, where=where)
        else:
            stamp = self._foreign_stamp(source, metadata, event["received_ns"])
        return Received(
            message=message, stamp=stamp, output=output, received_ns=event["received_ns"]
        )

    def _foreign_stamp(self, source: str, metadata: Mapping[str, Any], received_ns: int) -> Stamp:
        """Stamp a message of a node that is not ours from dora's own send time."""
        age = self._dora.timestamp() - metadata["timestamp"]
        sent_ns = received_ns - max(0, int(age.total_seconds() * 1e9))
        seq = self._foreign_seq = getattr(self, "_foreign_seq", -1) + 1
        return Stamp(source=source, seq=seq, observed_ns=sent_ns, sent_ns=sent_ns)

    def _node_failed(self, event: dict[str, Any]) -> None:
        value = event.get("value") or {}
        source = str(value.get("source_node_id", "?")) if isinstance(value, dict) else "?"
        reason = str(value.get("error", "")) if isinstance(value, dict) else ""
        self._failures[source] = f"node {source} died: {reason.splitlines()[0][:200]}"

    def _close_due(self) -> None:
        now_ns = _now()
        due = [c for c in self._closing if c[0] <= now_ns]
        if not due:
            return
        self._closing = [c for c in self._closing if c[0] > now_ns]
        for _, name, reason in due:
            self._open.discard(name)
            source = self._dispatch.sources[name].rpartition("/")[0]
            why = self._failures.get(source, reason)
            self._send(self._dispatch.stamp(self._node.on_closed(name, why, now_ns), now_ns))
        if self._had_inputs and not self._open and not self._done():
            self._node.finished = "every node it listens to has ended"

    def _send(self, sent: Iterable[Sent]) -> None:
        for output, message, stamp in sent:
            payload, metadata = encode(message)
            metadata.update(stamp.to_metadata())
            self._dora.send_output(output, payload, metadata)
            if isinstance(message, Event | Result):
                self._journal(message, stamp)

    def _journal(self, message: Event | Result, stamp: Stamp) -> None:
        """Append an event to the run folder, for people and for `interlock start`."""
        folder = self._context.run_dir / "events"
        line = {"node": self._context.node_id, "time_ns": stamp.sent_ns}
        line |= {"message": type(message).__name__}
        line |= {name: getattr(message, name) for name in message.__slots__}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with (folder / f"{self._context.node_id}.jsonl").open("a") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            self._say("warn", f"cannot write {folder}: {error.strerror}. Free some space.")

    def _say(self, level: str, text: str) -> None:
        self._dora.log(level, text)


def _now() -> int:
    return time.monotonic_ns()


def _context(dora_node: Any, environ: Mapping[str, str]) -> Context:
    node_config = yaml.safe_load(environ["DORA_NODE_CONFIG"])
    run_id = dora_node.dataflow_id()
    run_dir = Path(environ.get("INTERLOCK_RUN_DIR") or Path.cwd() / "runs" / run_id)
    return Context(
        node_id=str(node_config["node_id"]),
        run_id=run_id,
        run_dir=run_dir,
        seed=int(environ.get("INTERLOCK_SEED") or 0),
        dataflow=dora_node.dataflow_descriptor(),
        dataflow_dir=Path.cwd(),
    )


def _settings(node_class: type[Node], context: Context, environ: Mapping[str, str]) -> Any:
    declared: dict[str, Any] = {}
    for node in context.dataflow["nodes"]:
        if node["id"] == context.node_id:
            declared = node.get("env") or {}
    # The process environment holds the values after dora expanded $NAMES in them.
    env = {name: environ.get(name, value) for name, value in declared.items()}
    return from_env(node_class.Settings, env, where=f"node {context.node_id}: env")


def run(node_class: type[Node]) -> None:
    """Run a node until it is done and end the process with its exit code."""
    # Ctrl-C reaches every process of the terminal; dora turns it into a STOP event for us.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    name = Path(sys.argv[0]).stem
    try:
        code = Loop(node_class, DoraNode()).run()
    except InterlockError as error:
        sys.stderr.write(f"interlock: node {name}: {error}\n")
        code = 1
    sys.stdout.flush()
    sys.exit(code)
