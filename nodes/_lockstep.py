"""Run a whole dataflow in one process on simulated time, the same way every time.

Messages are handed over in a fixed order: by time, then by the order in which they were sent,
then by the order of nodes in the YAML. A node may take simulated time to think
(`LOCKSTEP_THINKING_MS` in its `env:`, one number or `low..high` drawn from a seeded generator): the
outputs of a step that sends a command then leave that much later, and until then the node reads
nothing.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.messages import Command, Received, SettingsError
from interlock.nodes._dispatch import Dispatcher, Sent, source_of
from interlock.nodes._node import Context
from interlock.nodes._pump import MAX_EVENTS, STATES
from interlock.nodes._registry import node_class
from interlock.nodes._settings import from_env

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_UNITS_NS = {"millis": 1_000_000, "secs": 1_000_000_000, "micros": 1_000}


@lru_cache(maxsize=256)
def timer_period_ns(source: str) -> int:
    """Return the period of `dora/timer/millis/20` or `dora/timer/hz/30`, in ns."""
    unit, _, value = source.removeprefix("dora/timer/").partition("/")
    try:
        number = float(value)
        period = 1e9 / number if unit == "hz" else number * _UNITS_NS[unit]
    except (KeyError, ValueError, ZeroDivisionError) as error:
        raise SettingsError(f"timer {source!r}: expected dora/timer/millis/N or hz/N") from error
    return round(period)


@dataclass(slots=True)
class _Member:
    """One node of the run and what waits for it."""

    dispatch: Dispatcher
    thinking_ns: Callable[[], int]
    open: set[str]
    waiting: deque[tuple[str, Received[Any] | None]] = field(default_factory=deque)
    busy_until_ns: int = 0
    ended: bool = False


class Lockstep:
    """All nodes of one dataflow on simulated time.

    Args:
        dataflow: The parsed dataflow.
        dataflow_dir: Folder of the YAML file.
        run_dir: Folder for the trace and reports of this run.
        seed: Seed of the run.
        run_id: Id of the run; part of seals and of the trace.
        extra_env: Node id -> settings that override those of the YAML.
    """

    def __init__(
        self,
        dataflow: dict[str, Any],
        *,
        dataflow_dir: Path,
        run_dir: Path,
        seed: int = 0,
        run_id: str = "lockstep",
        extra_env: dict[str, dict[str, Any]] | None = None,
    ) -> None:
        self.now_ns = 0
        self._order = 0
        self._heap: list[tuple[int, int, str, str, Received[Any] | None]] = []
        self._members: dict[str, _Member] = {}
        self._consumers: dict[str, list[tuple[str, str]]] = {}
        self.failures: list[str] = []
        for index, spec in enumerate(dataflow["nodes"]):
            context = Context(
                node_id=str(spec["id"]),
                run_id=run_id,
                run_dir=run_dir,
                seed=seed,
                lockstep=True,
                dataflow=dataflow,
                dataflow_dir=dataflow_dir,
            )
            env = dict(spec.get("env") or {}) | (extra_env or {}).get(context.node_id, {})
            self._add(spec, context, env, np.random.default_rng([seed, index]))

    def _add(
        self, spec: dict[str, Any], context: Context, env: dict[str, Any], rng: np.random.Generator
    ) -> None:
        cls = node_class(spec, context.dataflow_dir)
        settings = from_env(cls.Settings, env, where=f"node {context.node_id}: env")
        inputs = spec.get("inputs") or {}
        node = cls(settings, context)
        outputs = spec.get("outputs") or ()
        dispatch = Dispatcher(node, context.node_id, inputs, outputs, lambda: self.now_ns)
        thinking = _thinking(env.get("LOCKSTEP_THINKING_MS", 0), rng, context.node_id)
        opened = {name for name in dispatch.sources if not dispatch.is_timer(name)}
        self._members[context.node_id] = _Member(dispatch, thinking, opened)
        for name in inputs:
            source = source_of(inputs[name])
            if dispatch.is_timer(name):
                self._push(timer_period_ns(source), context.node_id, name, None)
            else:
                self._consumers.setdefault(source, []).append((context.node_id, name))

    def node(self, node_id: str) -> Any:
        """Return the node object of an id, for tests and trials."""
        return self._members[node_id].dispatch.node

    @property
    def done(self) -> bool:
        """True when every node has ended."""
        return all(m.ended for m in self._members.values())

    def start(self) -> None:
        """Call every node's ``on_start``."""
        for node_id, member in self._members.items():
            outputs = member.dispatch.node.on_start(self.now_ns)
            self._send(node_id, member.dispatch.stamp(outputs), self.now_ns)

    def run_until(self, until_ns: int) -> None:
        """Deliver everything that is due up to a time, or until every node has ended."""
        while self._heap and self._heap[0][0] <= until_ns and not self.done:
            time_ns, _, node_id, name, received = heapq.heappop(self._heap)
            self.now_ns = time_ns
            member = self._members[node_id]
            if name in member.dispatch.sources and member.dispatch.is_timer(name):
                period = timer_period_ns(member.dispatch.sources[name])
                if not member.ended:
                    self._push(time_ns + period, node_id, name, None)
            self._arrive(node_id, member, name, received)
        self.now_ns = max(self.now_ns, until_ns) if not self.done else self.now_ns

    def stop(self) -> None:
        """Call every node's ``on_stop`` (once)."""
        for member in self._members.values():
            if not member.ended:
                self._end(member)

    def _arrive(
        self, node_id: str, member: _Member, name: str, received: Received[Any] | None
    ) -> None:
        if member.ended:
            return
        if name == "":  # the node has finished thinking
            while member.waiting and member.busy_until_ns <= self.now_ns and not member.ended:
                waiting_name, waiting = member.waiting.popleft()
                self._handle(node_id, member, waiting_name, waiting)
        elif member.busy_until_ns > self.now_ns:
            self._wait(member, name, received)
        else:
            self._handle(node_id, member, name, received)

    def _wait(self, member: _Member, name: str, received: Received[Any] | None) -> None:
        """Keep an input for a node that is thinking; only the newest of a state or a tick."""
        if received is None or isinstance(received.message, STATES):
            member.waiting = deque(w for w in member.waiting if w[0] != name)
        member.waiting.append((name, received))
        if len(member.waiting) > MAX_EVENTS:
            member.waiting.popleft()

    def _handle(
        self, node_id: str, member: _Member, name: str, received: Received[Any] | None
    ) -> None:
        dispatch = member.dispatch
        if name.startswith("closed "):
            sent = self._closed(member, name.removeprefix("closed "))
        elif received is None:
            sent = dispatch.tick(name, self.now_ns)
        else:
            # Received afresh: the basis then says when this node saw it, thinking time included.
            fresh = Received(
                message=received.message,
                stamp=received.stamp,
                output=received.output,
                received_ns=self.now_ns,
            )
            sent = dispatch.deliver(name, fresh, self.now_ns)
        leaves_ns = self.now_ns
        if any(isinstance(message, Command) for _, message, _ in sent):
            leaves_ns += member.thinking_ns()
        if leaves_ns > self.now_ns:
            member.busy_until_ns = leaves_ns
            self._push(leaves_ns, node_id, "", None)
            sent = [(o, m, replace(s, sent_ns=leaves_ns)) for o, m, s in sent]
        self._send(node_id, sent, leaves_ns)
        if dispatch.node.finished or dispatch.node.failed:
            self._end(member)

    def _closed(self, member: _Member, name: str) -> list[Sent]:
        member.open.discard(name)
        node = member.dispatch.node
        source = self._members[member.dispatch.sources[name].rpartition("/")[0]]
        reason = source.dispatch.node.failed or "ended"
        sent = member.dispatch.stamp(node.on_closed(name, reason, self.now_ns))
        if not member.open and not node.finished:
            node.finished = "every node it listens to has ended"
        return sent

    def _end(self, member: _Member) -> None:
        node, node_id = member.dispatch.node, member.dispatch.node_id
        member.ended = True
        outputs = member.dispatch.stamp(node.on_stop(self.now_ns))
        self._send(node_id, outputs, self.now_ns)
        if node.failed:
            self.failures.append(f"node {node_id}: {node.failed}")
        for output in member.dispatch.outputs:
            for consumer, name in self._consumers.get(f"{node_id}/{output}", ()):
                self._push(self.now_ns, consumer, f"closed {name}", None)

    def _send(self, node_id: str, sent: list[Sent], leaves_ns: int) -> None:
        for output, message, stamp in sent:
            if leaves_ns > stamp.sent_ns:  # thinking is time before sending, not on the edge
                stamp = replace(stamp, sent_ns=leaves_ns)  # noqa: PLW2901
            for consumer, name in self._consumers.get(f"{node_id}/{output}", ()):
                received = Received(
                    message=message, stamp=stamp, output=output, received_ns=leaves_ns
                )
                self._push(leaves_ns, consumer, name, received)

    def _push(self, time_ns: int, node_id: str, name: str, received: Received[Any] | None) -> None:
        self._order += 1
        heapq.heappush(self._heap, (time_ns, self._order, node_id, name, received))


def _thinking(value: Any, rng: np.random.Generator, node_id: str) -> Callable[[], int]:
    low, _, high = str(value).partition("..")
    try:
        low_ms, high_ms = float(low), float(high or low)
    except ValueError as error:
        raise SettingsError(
            f"node {node_id}: LOCKSTEP_THINKING_MS: expected 30 or 20..60, got {value!r}"
        ) from error
    if not 0 <= low_ms <= high_ms < 3_600_000:
        raise SettingsError(f"node {node_id}: LOCKSTEP_THINKING_MS: {value!r} is no time range")
    if low_ms == high_ms:
        return lambda: round(low_ms * 1e6)
    return lambda: round(rng.uniform(low_ms, high_ms) * 1e6)
