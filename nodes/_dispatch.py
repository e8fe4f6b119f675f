"""Deliver inputs to a node's handlers and stamp what it sends; shared by both drivers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlock.messages.errors import InterlockError, MessageError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from interlock.messages.received import Output, Received
    from interlock.messages.stamp import Stamp
    from interlock.nodes._node import Node

#: How an output leaves: (output id, message, stamp).
Sent = tuple[str, Any, "Stamp"]


class GraphMismatchError(InterlockError):
    """The dataflow gives a node an input or output that it does not have."""


def source_of(spec: Any) -> str:
    """Return ``node/output`` or ``dora/timer/...`` of an input in the dataflow."""
    return str(spec["source"] if isinstance(spec, dict) else spec)


class Dispatcher:
    """Calls ``on_<input>`` of one node and numbers its outputs.

    Args:
        node: The node.
        node_id: Its id in the dataflow.
        inputs: Input id -> source, as in the dataflow.
        outputs: Output ids of the dataflow.
        clock: Time of sending, in ns on the dataflow's clock; a step may have taken long.
    """

    def __init__(
        self,
        node: Node,
        node_id: str,
        inputs: Mapping[str, Any],
        outputs: Iterable[str],
        clock: Callable[[], int],
    ) -> None:
        self._clock = clock
        self.node = node
        self.node_id = node_id
        self.sources = {name: source_of(spec) for name, spec in inputs.items()}
        self.outputs = set(outputs)
        self._seq: dict[str, int] = {}
        self._wild = "*" in node.inputs
        self._handlers = {name: self._handler(name) for name in self.sources}
        for name in self.outputs - set(node.outputs):
            if "*" in node.outputs:
                break
            raise GraphMismatchError(
                f"node {node_id}: it has no output {name!r}; {nearest(name, node.outputs)}"
            )

    def is_timer(self, input_id: str) -> bool:
        """Return True for an input fed by a dora timer."""
        return self.sources[input_id].startswith("dora/timer/")

    def _handler(self, name: str) -> Callable[..., Iterable[Output]]:
        if self.is_timer(name):
            handler = getattr(self.node, f"on_{name}", self.node.on_tick)
        elif self._wild:
            handler = getattr(self.node, "on_message")  # noqa: B009 (only wildcard nodes have it)
        else:
            port = self.port(name)
            handler = getattr(self.node, f"on_{port}")
        return handler

    def port(self, name: str) -> str:
        """Return the declared port of an input id: itself, or its prefix before ``_``.

        So two policies can feed one Gate as ``command_left`` and ``command_right``.
        """
        known = self.node.inputs
        if name in known:
            return name
        for port in sorted(known, key=len, reverse=True):
            if name.startswith(f"{port}_"):
                return port
        raise GraphMismatchError(
            f"node {self.node_id}: it has no input {name!r}; {nearest(name, known)}"
        )

    def deliver(self, input_id: str, received: Received[Any], now_ns: int) -> list[Sent]:
        """Hand a message to its handler and return what the node sends."""
        handler = self._handlers[input_id]
        if self._wild:
            return self.stamp(handler(input_id, received, now_ns))
        expected = self.node.inputs[self.port(input_id)]
        if not isinstance(received.message, expected):
            raise MessageError(
                f"{self.sources[input_id]} -> {self.node_id}/{input_id}: expected "
                f"{expected.__name__}, got {type(received.message).__name__}"
            )
        return self.stamp(handler(received, now_ns))

    def tick(self, input_id: str, now_ns: int) -> list[Sent]:
        """Hand a timer tick to its handler and return what the node sends."""
        return self.stamp(self._handlers[input_id](now_ns))

    def stamp(self, outputs: Iterable[Output]) -> list[Sent]:
        """Number and stamp what a handler returned; drop outputs that the dataflow leaves out."""
        sent = []
        for out in outputs:
            if out.output not in self.outputs:
                if out.output not in self.node.outputs and "*" not in self.node.outputs:
                    raise MessageError(
                        f"node {self.node_id} sent on {out.output!r}, which it does not declare"
                    )
                continue
            seq = self._seq.get(out.output, 0)
            self._seq[out.output] = seq + 1
            stamp = out.stamp(source=self.node_id, seq=seq, now_ns=self._clock())
            sent.append((out.output, out.message, stamp))
        return sent
