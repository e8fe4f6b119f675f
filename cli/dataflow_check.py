"""Is a dataflow sound? Every problem as one sentence with the file and line to change."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from interlock.cli.dora_tool import DoraError, ask_dora, complaint, dora_environment, expand
from interlock.cli.environment import busy_ports
from interlock.cli.node_ports import Ports, read_ports
from interlock.cli.port_rules import port_problems
from interlock.gate.graph import GraphProblem, gate_problems, trace_problems
from interlock.gate.graph_nodes import GraphNode, read_nodes
from interlock.messages.errors import InterlockError, nearest
from interlock.operators.dataflow_file import DataflowFile, read_dataflow_file

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

_INPUT_KEYS = {"source", "queue_size", "queue_policy", "input_timeout"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was found.

    Attributes:
        problems: One line each, starting with ``file:line``.
        nodes: The nodes, modules expanded; empty when the file could not be read that far.
        dataflow: The dataflow, modules expanded.
    """

    problems: tuple[str, ...]
    nodes: tuple[GraphNode, ...] = ()
    dataflow: dict[str, Any] | None = None


def check_dataflow(path: Path) -> Report:
    """Check a dataflow file without starting any of its nodes."""
    try:
        file = read_dataflow_file(path)
        dataflow = expand(path)
        nodes = read_nodes(dataflow, path.resolve().parent, drivers=())
        ports = read_ports(
            [
                {"id": n.id, "file": str(n.file), "env": dict(n.env)}
                for n in nodes
                if n.file is not None
            ]
        )
        drivers = _declared_drivers(ports) + _configured_drivers(nodes, ports, path)
        nodes = read_nodes(dataflow, path.resolve().parent, drivers=drivers)
    except InterlockError as error:
        return Report(problems=(str(error),))
    problems = [
        *_input_keys(file),
        *_programs(nodes, ports),
        *_sources(nodes),
        *gate_problems(nodes),
        *trace_problems(nodes, unreadable=_ros2_edges(dataflow)),
        *_timers(nodes, _ros2_nodes(dataflow)),
        *_operators(nodes),
        *port_problems(nodes, ports),
        *_busy(ports),
    ]
    lines = [f"{file.place(p.node, p.item)}: {p.text}" for p in problems]
    if not lines:
        lines += _validated(path)
    return Report(problems=tuple(dict.fromkeys(lines)), nodes=nodes, dataflow=dataflow)


def _declared_drivers(ports: dict[str, Ports]) -> tuple[str, ...]:
    """Return the nodes whose class accepts sealed commands, wherever their file is."""
    return tuple(
        name
        for name, port in ports.items()
        if "AdmittedCommand" in port.inputs.values() and "*" not in port.inputs
    )


def _configured_drivers(
    nodes: Sequence[GraphNode], ports: dict[str, Ports], path: Path
) -> tuple[str, ...]:
    """Return the drivers that the Gate's configuration names, of those in the dataflow.

    Raises:
        InterlockError: If the configuration would not be accepted by the Gate.
    """
    from interlock.gate import read_config
    from interlock.nodes._gate_config import gate_config_path

    ids = {n.id for n in nodes}
    named: list[str] = []
    for node in nodes:
        declared = ports.get(node.id)
        if node.role == "gate" and declared is not None and "CONFIG" in declared.settings:
            file = gate_config_path(str(declared.settings["CONFIG"]), path.resolve().parent)
            named += [d for d in read_config(file).drivers if d in ids]
    return tuple(named)


def _input_keys(file: DataflowFile) -> Iterator[GraphProblem]:
    """Find misspelt keys of inputs: dora ignores them, so a queue would silently have 10 places."""
    for entry in file.data["nodes"]:
        if not isinstance(entry, dict):
            continue
        parts = [entry, *(entry.get("operators") or ()), entry.get("operator") or {}]
        for name, spec in ((k, v) for p in parts for k, v in (p.get("inputs") or {}).items()):
            for key in set(spec) - _INPUT_KEYS if isinstance(spec, dict) else ():
                yield GraphProblem(
                    node=str(entry.get("id", "")),
                    item=name,
                    text=f"input {name!r}: unknown key {key!r}; {nearest(str(key), _INPUT_KEYS)}",
                )


def _programs(nodes: Sequence[GraphNode], ports: dict[str, Ports]) -> Iterator[GraphProblem]:
    for node in nodes:
        error = ports[node.id].error if node.id in ports else ""
        setting_error = ports[node.id].setting_error if node.id in ports else ""
        if error:
            yield GraphProblem(node=node.id, item="path", text=f"node {node.id!r}: {error}")
        if setting_error:
            item = next((k for k in node.env if repr(k) in setting_error), "env")
            yield GraphProblem(
                node=node.id, item=item, text=f"node {node.id!r}: env: {setting_error}"
            )
        if node.file is None and node.path not in ("", "dynamic", "shell"):
            found = shutil.which(node.path, path=dora_environment()["PATH"])
            if "/" not in node.path and not found:
                yield GraphProblem(
                    node=node.id,
                    item="path",
                    text=f"node {node.id!r}: no program {node.path!r} on PATH; install it, or "
                    "give a path to a file",
                )


def _sources(nodes: Sequence[GraphNode]) -> Iterator[GraphProblem]:
    """Yield each input that hears an output nobody sends."""
    outputs = {n.id: {*n.outputs, *(o.removeprefix("op/") for o in n.outputs)} for n in nodes}
    for node in nodes:
        for edge in node.inputs:
            if edge.source == "dora":
                continue
            if edge.source not in outputs:
                text = f"there is no node {edge.source!r}; {nearest(edge.source, outputs)}"
            elif edge.output not in outputs[edge.source]:
                text = (
                    f"node {edge.source!r} has no output {edge.output!r}; "
                    f"{nearest(edge.output, outputs[edge.source])}"
                )
            else:
                continue
            yield GraphProblem(
                node=node.id, item=edge.name, text=f"input {edge.name!r} of {node.id!r}: {text}"
            )


def _ros2_nodes(dataflow: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return dora's own bridges to ROS 2, by id."""
    return {str(entry["id"]): entry for entry in dataflow["nodes"] if "ros2" in entry}


def _ros2_edges(dataflow: dict[str, Any]) -> frozenset[str]:
    """Return the outputs in ROS 2's form, which are no messages of ours: of and to its bridges."""
    found = set()
    for name, entry in _ros2_nodes(dataflow).items():
        found |= {f"{name}/{output}" for output in entry.get("outputs") or ()}
        for spec in (entry.get("inputs") or {}).values():
            found.add(str(spec["source"] if isinstance(spec, dict) else spec))
    return frozenset(found)


def _timers(nodes: Sequence[GraphNode], without: Collection[str]) -> Iterator[GraphProblem]:
    """A node without a timer is never restarted and can't notice that dora is gone."""
    for node in nodes:
        if node.id in without:
            continue
        if node.path != "dynamic" and not any(e.is_timer for e in node.inputs):
            yield GraphProblem(
                node=node.id,
                item="inputs",
                text=f"node {node.id!r} has no timer, so it can't notice that dora is gone: add "
                "tick: dora/timer/millis/100 to its inputs",
            )


def _operators(nodes: Sequence[GraphNode]) -> Iterator[GraphProblem]:
    for node in nodes:
        if node.operators > 1:
            yield GraphProblem(
                node=node.id,
                item="operators",
                text=f"node {node.id!r} has {node.operators} operators; dora 1.1 runs one Python "
                "operator per node: give each a node of its own",
            )


def _busy(ports: dict[str, Ports]) -> Iterator[GraphProblem]:
    for node, name, port in busy_ports(ports):
        yield GraphProblem(
            node=node,
            item=name,
            text=f"node {node!r}: port {port} is in use; end the other program, or set {name}",
        )


def _validated(path: Path) -> list[str]:
    try:
        done = ask_dora("validate", str(path))
    except DoraError as error:
        return [str(error)]
    return [] if done.returncode == 0 else [f"{path}: dora: {complaint(done.stderr)}"]
