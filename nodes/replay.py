"""Replay node: stands in for any node and sends its recorded outputs again at their recorded times.

Inputs:   any; only grants are used: recorded task tokens become the ones granted now.
Outputs:  those of the recorded node, as the dataflow names them.

Times inside the messages (observations, starts, deadlines, basis) move with the run, so that they
have the ages that they had. Give it a short timer, e.g. dora/timer/millis/5: it sends on ticks.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path  # noqa: TC003 (settings are read by type hint)
from typing import TYPE_CHECKING, Any, ClassVar

from interlock.messages import Command, Grant, ObjectPoses, Output
from interlock.messages.errors import nearest
from interlock.nodes._node import Context, Node
from interlock.operators.trace import Trace, TraceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from interlock.messages import Received


class ReplayNode(Node):
    """Sends what a node sent in another run."""

    @dataclass(frozen=True, kw_only=True)
    class Settings:
        """What to replay.

        Attributes:
            trace: Folder of the recorded run, relative to the dataflow file.
            node: Id that the node had there; empty for this node's own id.
        """

        trace: Path
        node: str = ""

    inputs: ClassVar[dict[str, type]] = {"*": object}
    outputs: ClassVar[dict[str, type]] = {"*": object}

    def __init__(self, settings: Settings, context: Context) -> None:
        super().__init__(settings, context)
        self._name = settings.node or context.node_id
        trace = Trace(context.dataflow_dir / settings.trace)
        known = {s.source for s in trace.streams if len(s)}
        if self._name not in known:
            raise TraceError(
                f"node {context.node_id}: {trace.folder} holds nothing of node {self._name!r}; "
                f"{nearest(self._name, known)}"
            )
        self._recorded_ns = trace.span_ns()[0]
        self._requests = _requests(trace)
        self._tokens: dict[str, str] = {}
        self._left: Iterator[Received[Any]] = trace.messages(outputs=[self._name])
        self._next: Received[Any] | None = next(self._left, None)
        self._shift_ns = 0
        self._count = 0

    def on_start(self, now_ns: int) -> Iterable[Output]:
        """Fix how far the recorded clock is from this one; send what is due at once."""
        self._shift_ns = now_ns - self._recorded_ns
        return self.on_tick(now_ns)

    def on_message(self, input_id: str, received: Received[Any], now_ns: int) -> Iterable[Output]:
        """Learn which token stands for a recorded one."""
        grant = received.message
        if isinstance(grant, Grant) and grant.task and grant.request in self._requests:
            self._tokens[self._requests[grant.request]] = grant.task
        return ()

    def on_tick(self, now_ns: int) -> Iterable[Output]:
        """Send everything that is due."""
        due = []
        while (message := self._next) and message.stamp.sent_ns + self._shift_ns <= now_ns:
            due.append(self._again(message))
            self._next = next(self._left, None)
        self._count += len(due)
        if self._next is None and not self.finished:
            self.finished = f"replayed {self._count} messages of {self._name}"
        return due

    def _again(self, received: Received[Any]) -> Output:
        stamp, shift_ns = received.stamp, self._shift_ns
        return Output(
            output=received.output,
            message=self._moved(received.message),
            observed_ns=stamp.observed_ns + shift_ns,
            basis=tuple(
                dataclasses.replace(
                    b, observed_ns=b.observed_ns + shift_ns, received_ns=b.received_ns + shift_ns
                )
                for b in stamp.basis
            ),
        )

    def _moved(self, message: Any) -> Any:
        """Return a message with its times on this run's clock and its task's token of today."""
        changes: dict[str, Any] = {}
        token = self._tokens.get(getattr(message, "task", ""))
        if token is not None:
            changes["task"] = token
        if isinstance(message, ObjectPoses):
            changes["observed_ns"] = message.observed_ns + self._shift_ns
        if isinstance(message, Command):
            for name in ("start_ns", "deadline_ns"):
                if value := getattr(message, name):
                    changes[name] = value + self._shift_ns
        return dataclasses.replace(message, **changes) if changes else message


def _requests(trace: Trace) -> dict[str, str]:
    """Return request id -> token, as granted in the recorded run."""
    grants = (r.message for r in trace.messages(types=[Grant]))
    return {g.request: g.task for g in grants if g.task}


NODE = ReplayNode


def main() -> None:
    """Run as a node of a dataflow."""
    from interlock.nodes._dora import run

    run(NODE)


if __name__ == "__main__":
    main()
