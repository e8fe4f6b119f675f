"""Do the two ends of every edge fit: message types and queues?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.gate.graph import GraphProblem
from interlock.messages.errors import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from interlock.cli.node_ports import Ports
    from interlock.gate.graph_nodes import Edge, GraphNode

#: Blocking the sender of one of these would stall the arm or age what everybody sees.
NEVER_BLOCK = {"RobotState", "ObjectPoses", "Image", "Command", "AdmittedCommand"}
#: Smallest queue of the trace for an output of this type, and for any other.
TRACE_QUEUES = {"Image": 100}
TRACE_QUEUE = 1000


def port_problems(nodes: Sequence[GraphNode], ports: Mapping[str, Ports]) -> Iterator[GraphProblem]:
    """Yield each edge whose ends do not fit."""
    for node in nodes:
        declared = ports.get(node.id)
        if declared is not None and declared.known and not declared.error:
            yield from _undeclared(node, declared)
        for edge in node.inputs:
            if edge.source == "dora":
                continue
            sent = _sent(edge, ports)
            if declared is not None and declared.known and not declared.error:
                yield from _mismatch(node, edge, declared, sent)
            yield from _queue(node, edge, sent)


def _sent(edge: Edge, ports: Mapping[str, Ports]) -> list[str]:
    """Return the type names of what an edge carries; empty when it is not known."""
    sender = ports.get(edge.source)
    return sender.outputs.get(edge.output, []) if sender is not None else []


def _port(name: str, inputs: Mapping[str, str]) -> str | None:
    """Return the declared input of an input id: itself, or its prefix before ``_``."""
    if name in inputs:
        return name
    fitting = [port for port in inputs if name.startswith(f"{port}_")]
    return max(fitting, key=len) if fitting else None


def _undeclared(node: GraphNode, declared: Ports) -> Iterator[GraphProblem]:
    for output in node.outputs:
        if output not in declared.outputs and "*" not in declared.outputs:
            yield GraphProblem(
                node=node.id,
                item=output,
                text=f"node {node.id!r} sends no {output!r}; {nearest(output, declared.outputs)}",
            )
    for edge in node.inputs:
        known = "*" in declared.inputs or _port(edge.name, declared.inputs) is not None
        if not known and not edge.is_timer:
            yield GraphProblem(
                node=node.id,
                item=edge.name,
                text=f"node {node.id!r} has no input {edge.name!r}; "
                f"{nearest(edge.name, declared.inputs)}",
            )


def _mismatch(
    node: GraphNode, edge: Edge, declared: Ports, sent: list[str]
) -> Iterator[GraphProblem]:
    port = _port(edge.name, declared.inputs)
    wanted = declared.inputs.get(port) if port is not None else None
    if sent and wanted is not None and wanted not in sent:
        yield GraphProblem(
            node=node.id,
            item=edge.name,
            text=f"input {edge.name!r} of {node.id!r} takes {wanted}, but {edge.text} sends "
            f"{sent[0]}",
        )


def _queue(node: GraphNode, edge: Edge, sent: list[str]) -> Iterator[GraphProblem]:
    kind = sent[0] if sent else ""
    if edge.options.get("queue_policy") == "backpressure" and (kind in NEVER_BLOCK or not kind):
        yield GraphProblem(
            node=node.id,
            item=edge.name,
            text=f"input {edge.name!r} of {node.id!r}: queue_policy backpressure on {edge.text} "
            f"({kind or 'unknown type'}) lets a slow reader stop the sender; remove it",
        )
    if node.role != "trace":
        return
    size = edge.options.get("queue_size", 10)
    least = TRACE_QUEUES.get(kind, TRACE_QUEUE if kind else min(TRACE_QUEUES.values()))
    if not isinstance(size, int) or size < least:
        yield GraphProblem(
            node=node.id,
            item=edge.name,
            text=f"input {edge.name!r} of {node.id!r} keeps {size} messages of {edge.text}; the "
            f"trace needs queue_size: {least} or more, or it loses some when the host is busy",
        )
