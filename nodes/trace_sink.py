"""Trace node: writes every message of every output to disk and counts what is missing.

Inputs:   any, named as you like; each is recorded under the output that the dataflow wires to it.
Outputs:  event (lost messages, a node that died, a full disk).

Give its inputs large queues (20000, pictures 300) and a timer: it never slows the others down.
"""

from __future__ import annotations

import json
import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from interlock.messages import Event, Output, Received, Stamp
from interlock.nodes._dispatch import source_of
from interlock.nodes._node import Context, Node
from interlock.operators.trace import Trace, TraceMeta, TraceOptions, TraceWriter
from interlock.operators.trace.summary import summarize

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Packages whose versions belong to a run.
PACKAGES = ("interlock", "dora-rs", "mujoco", "numpy", "pyarrow", "ruckig")
#: Shortest time between two warnings about lost messages, in ns.
WARN_NS = 1_000_000_000


class TraceNode(Node):
    """Records the run that it is part of."""

    @dataclass(frozen=True, kw_only=True)
    class Settings:
        """What to keep.

        Attributes:
            images: ``all``, ``none`` or ``every`` (one in ``every_n``) keep their pixels.
            every_n: See ``images``.
            image_budget_mb: Size of the trace from which on pictures lose their pixels, in MB.
            flush_ms: Longest time that a message waits in memory, in ms.
            buffer_mb: Largest size of what waits for the disk, in MB.
            on_full: ``end`` ends the run when the disk takes no more, so that nothing moves
                unrecorded; ``continue`` goes on and counts what is left out.
        """

        images: Literal["all", "none", "every"] = "all"
        every_n: int = 10
        image_budget_mb: float = 4000.0
        flush_ms: int = 250
        buffer_mb: float = 256.0
        on_full: Literal["end", "continue"] = "end"

    inputs: ClassVar[dict[str, type]] = {"*": object}
    outputs: ClassVar[dict[str, type]] = {"event": Event}

    def __init__(self, settings: Settings, context: Context) -> None:
        super().__init__(settings, context)
        self._sources = _wired(context)
        self._writer = TraceWriter(
            context.run_dir, _meta(context), _options(settings, lockstep=context.lockstep)
        )
        for source, output in self._sources.values():
            self._writer.expect(source, output)
        self._missing: dict[str, int] = {}
        self._warned_ns: int | None = None
        self._events = 0
        self._reported = ""

    def on_message(self, input_id: str, received: Received[Any], now_ns: int) -> Iterable[Output]:
        """Record one message of any type."""
        source, output = self._sources.get(input_id) or (received.stamp.source, received.output)
        missing = self._writer.add(source, output, received)
        if missing:
            name = f"{source}/{output}"
            self._missing[name] = self._missing.get(name, 0) + missing
        return ()

    def on_tick(self, now_ns: int) -> Iterable[Output]:
        """Flush when it is time; tell about lost messages and about a disk that takes no more."""
        self._writer.tick(now_ns)
        outputs = []
        if self._missing and (self._warned_ns is None or now_ns - self._warned_ns >= WARN_NS):
            self._warned_ns = now_ns
            counts = ", ".join(f"{n} of {name}" for name, n in sorted(self._missing.items()))
            text = f"messages lost before the trace: {counts}"
            outputs.append(self._event("warning", text, now_ns, lost=self._missing))
            self._missing = {}
        if self._writer.error and self._writer.error != self._reported:
            self._reported = self._writer.error
            outputs.append(self._event("error", self._writer.error, now_ns))
            if self.settings.on_full == "end":
                self.failed = self._writer.error
        return outputs

    def on_closed(self, input_id: str, reason: str, now_ns: int) -> Iterable[Output]:
        """Record that a node died; one that ended by itself is no news."""
        if reason == "ended":
            return ()
        source, output = self._sources.get(input_id, (input_id, ""))
        text = f"{source}/{output} closed: {reason}"
        return [self._event("warning", text, now_ns, node=source, output=output, reason=reason)]

    def on_stop(self, now_ns: int) -> Iterable[Output]:
        """Write what waits and the summary."""
        self._writer.close()
        self._writer.finish(summarize(Trace(self._writer.folder), self._writer))
        if self._writer.error and self.settings.on_full == "end":
            self.failed = self.failed or self._writer.error
        return ()

    def _event(self, kind: str, text: str, now_ns: int, **data: Any) -> Output:
        """Return an event to send; it is part of the trace as well."""
        message = Event(kind=kind, text=text, data=json.dumps(data))
        out = Output(output="event", message=message)
        stamp: Stamp = out.stamp(source=self.context.node_id, seq=self._events, now_ns=now_ns)
        self._events += 1
        received = Received(message=message, stamp=stamp, output="event", received_ns=now_ns)
        self._writer.add(self.context.node_id, "event", received)
        return out


def _wired(context: Context) -> dict[str, tuple[str, str]]:
    """Return input id -> (node, output), from the dataflow."""
    for node in context.dataflow.get("nodes", ()):
        if node.get("id") == context.node_id:
            sources = {name: source_of(spec) for name, spec in (node.get("inputs") or {}).items()}
            return {
                name: (source.rpartition("/")[0], source.rpartition("/")[2])
                for name, source in sources.items()
                if not source.startswith("dora/")
            }
    return {}


def _options(settings: TraceNode.Settings, *, lockstep: bool) -> TraceOptions:
    return TraceOptions(
        images=settings.images,
        every_n=settings.every_n,
        image_budget_mb=settings.image_budget_mb,
        flush_ms=settings.flush_ms,
        buffer_mb=settings.buffer_mb,
        background=not lockstep,
    )


def _meta(context: Context) -> TraceMeta:
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return TraceMeta(
        run_id=context.run_id,
        clock="simulated" if context.lockstep else "monotonic",
        seed=context.seed,
        started=datetime.now(UTC).isoformat(timespec="milliseconds"),
        dataflow=context.dataflow,
        versions=versions,
    )


NODE = TraceNode


def main() -> None:
    """Run as a node of a dataflow."""
    from interlock.nodes._dora import run

    run(NODE)


if __name__ == "__main__":
    main()
