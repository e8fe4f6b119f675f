"""Refuse a dataflow in which anything but the Gate reaches a driver, or the trace misses an output.

The same rules run in `interlock check`, when the Gate starts and when a driver starts. They see
edges, not a program that opens the robot's own port: the driver must hold the only connection, and
the seal on each command is what stops a hostile process (``docs/security.md``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from interlock.gate.errors import GraphError
from interlock.gate.graph_nodes import DRIVERS, GraphNode, read_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

#: Output of the Gate that carries sealed commands.
SEALED = "command"
#: Inputs of the Gate that carry what a policy wants: ``command``, ``command_left``, ...
ASKED = "command"
#: Inputs of the Gate that no node that asks it to move the robot may feed.
IMPARTIAL = {
    "operator_reset": "release an operator stop; use interlock reset instead",
    "state": "say where the robot is; the driver says that",
    "objects": "say what is in its way; let a tracker say that",
}
#: Input of the simulator that changes the world around the arm (it takes an Event, no command).
WORLD = "disturb"


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphProblem:
    """One thing that is wrong with a dataflow.

    Attributes:
        node: Node to change; empty for the dataflow as a whole.
        item: Input, output or setting of that node to change; empty for the node as a whole.
        text: One sentence: what is wrong, and what to write instead.
    """

    node: str
    item: str
    text: str


def require_only_way(
    dataflow: Mapping[str, Any], folder: Path, *, drivers: Sequence[str] = ()
) -> None:
    """Refuse to go on in a dataflow that goes round the Gate.

    Args:
        dataflow: The dataflow, modules expanded.
        folder: Folder of its file.
        drivers: Ids of further nodes that drive a robot.

    Raises:
        GraphError: With every problem, one sentence each.
    """
    problems = list(gate_problems(read_nodes(dataflow, folder, drivers=tuple(drivers))))
    if problems:
        raise GraphError("; ".join(p.text for p in problems))


def gate_problems(nodes: Sequence[GraphNode]) -> Iterator[GraphProblem]:
    """Yield each way past the Gate."""
    gates = [n for n in nodes if n.role == "gate"]
    drivers = [n for n in nodes if n.role == "driver"]
    for extra in gates[1:]:
        yield GraphProblem(
            node=extra.id,
            item="",
            text=f"nodes {gates[0].id!r} and {extra.id!r} both run the Gate; keep one",
        )
    for extra in drivers[1:]:
        yield GraphProblem(
            node=extra.id,
            item="",
            text=f"nodes {drivers[0].id!r} and {extra.id!r} both drive a robot; "
            "one Gate serves one driver: keep one, or start two dataflows",
        )
    if drivers and not gates:
        yield GraphProblem(
            node=drivers[0].id,
            item="",
            text=f"driver {drivers[0].id!r} has no Gate before it: add a node with "
            "path: nodes/gate.py (a copy that was changed or is wrapped does not count)",
        )
        return
    gate = gates[0].id if gates else ""
    asked = _asked(gates)
    yield from _bias_problems(gates, asked)
    for driver in drivers:
        yield from _driver_problems(driver, gate, asked)
    for listener in nodes:
        yield from _listener_problems(listener, gate, asked)


def _asked(gates: Sequence[GraphNode]) -> dict[str, str]:
    """Return output -> node of everything that asks the Gate to move the robot."""
    return {
        edge.text: edge.source
        for gate in gates
        for edge in gate.inputs
        if edge.name == ASKED or edge.name.startswith(f"{ASKED}_")
    }


def _bias_problems(gates: Sequence[GraphNode], asked: Mapping[str, str]) -> Iterator[GraphProblem]:
    """Whoever moves the robot is not the one by whose word it is judged."""
    for gate in gates:
        for edge in gate.inputs:
            port = next((p for p in IMPARTIAL if f"{edge.name}_".startswith(f"{p}_")), "")
            if port and edge.source in asked.values():
                yield GraphProblem(
                    node=gate.id,
                    item=edge.name,
                    text=f"input {edge.name!r} of node {gate.id!r} lets {edge.source!r}, which "
                    f"moves the robot, {IMPARTIAL[port]}",
                )


def _driver_problems(
    driver: GraphNode, gate: str, asked: Mapping[str, str]
) -> Iterator[GraphProblem]:
    sealed = f"{gate}/{SEALED}"
    if driver.operators:
        yield GraphProblem(
            node=driver.id,
            item="",
            text=f"driver {driver.id!r} is a dora Operator; use it as a node: path: nodes/...",
        )
    for edge in driver.inputs:
        scenery = edge.name.partition("_")[0] == WORLD and driver.file in DRIVERS
        if scenery and edge.source not in asked.values():
            continue
        if not edge.is_timer and edge.text != sealed:
            yield GraphProblem(
                node=driver.id,
                item=edge.name,
                text=f"input {edge.name!r} of driver {driver.id!r} hears {edge.text}, past the "
                f"Gate; a driver hears only {sealed} and timers",
            )
    if not any(edge.text == sealed for edge in driver.inputs):
        yield GraphProblem(
            node=driver.id,
            item="",
            text=f"driver {driver.id!r} does not hear the Gate: add {SEALED}: {sealed} "
            "to its inputs",
        )


def _listener_problems(
    node: GraphNode, gate: str, asked: Mapping[str, str]
) -> Iterator[GraphProblem]:
    """What a policy asks for may be heard by the Gate, the trace and our own nodes only.

    So a driver under another name, in a module, an operator or a dynamic node is found too.
    """
    if node.role != "other":
        return
    for edge in node.inputs:
        if edge.text in asked:
            yield GraphProblem(
                node=node.id,
                item=edge.name,
                text=f"input {edge.name!r} of node {node.id!r} hears {edge.text} before the Gate "
                f"has judged it; let it hear {gate}/{SEALED} or {gate}/verdict",
            )


def trace_problems(
    nodes: Sequence[GraphNode], *, unreadable: frozenset[str] = frozenset()
) -> Iterator[GraphProblem]:
    """Yield each output that the trace does not read, but for those that it could not read."""
    traces = [n for n in nodes if n.role == "trace"]
    if not traces:
        yield GraphProblem(
            node="",
            item="",
            text="no node records the run: add a node with path: nodes/trace_sink.py that "
            "hears every output",
        )
        return
    heard = {edge.text for trace in traces for edge in trace.inputs}
    for node in nodes:
        if node.role == "trace":
            continue
        for output in node.outputs:
            short = output.removeprefix("op/")
            if not {f"{node.id}/{output}", f"{node.id}/{short}"} & (heard | unreadable):
                name = f"{node.id}_{output}".replace(".", "_").replace("/", "_")
                yield GraphProblem(
                    node=traces[0].id,
                    item="",
                    text=f"the trace does not read {node.id}/{output}: add {name}: "
                    f"{{source: {node.id}/{output}, queue_size: 20000}} to the inputs of "
                    f"{traces[0].id!r}",
                )
