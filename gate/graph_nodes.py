"""What the Gate needs to know of a dataflow: its nodes, what each one runs, and who hears whom."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from interlock.gate.errors import GraphError

#: Folder of the node files that ship with Interlock.
SHIPPED = Path(__file__).resolve().parents[1] / "nodes"
#: Shipped files with a part of their own in the rules.
GATE, TRACE = SHIPPED / "gate.py", SHIPPED / "trace_sink.py"
DRIVERS = (SHIPPED / "simulator.py", SHIPPED / "driver.py")

#: gate, driver and trace: as their files say. shipped: another node of ours. other: anything else.
Role = Literal["gate", "driver", "trace", "shipped", "other"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """One input of a node.

    Attributes:
        name: Id of the input.
        source: Node that it hears; ``dora`` for timers and logs.
        output: Output of that node, or the rest of a dora source.
        options: Other keys of the input, e.g. ``queue_size``.
    """

    name: str
    source: str
    output: str
    options: Mapping[str, Any]

    @property
    def is_timer(self) -> bool:
        """True when a dora timer feeds it."""
        return self.source == "dora" and self.output.startswith("timer/")

    @property
    def text(self) -> str:
        """The source as written in the dataflow."""
        return f"{self.source}/{self.output}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphNode:
    """One node of a dataflow, modules expanded.

    Attributes:
        id: Its id.
        role: What it is, by the program that it runs; never by its id.
        path: ``path:`` as written; empty for operators.
        file: The Python file that it runs, if it is one.
        operators: Number of operators in it.
        inputs: What it hears.
        outputs: What it sends.
        env: Its settings.
    """

    id: str
    role: Role
    path: str
    file: Path | None
    operators: int
    inputs: tuple[Edge, ...]
    outputs: tuple[str, ...]
    env: Mapping[str, Any]


def read_nodes(
    dataflow: Mapping[str, Any], folder: Path, *, drivers: tuple[str, ...] = ()
) -> tuple[GraphNode, ...]:
    """Read the nodes of a dataflow whose modules are expanded.

    Args:
        dataflow: The dataflow, e.g. ``node.dataflow_descriptor()``.
        folder: Folder that relative paths start from.
        drivers: Ids of nodes that drive a robot besides those whose file says so.

    Raises:
        GraphError: If it is not a list of nodes with an id each.
    """
    entries = dataflow.get("nodes")
    if not isinstance(entries, list) or not all(isinstance(e, Mapping) for e in entries):
        raise GraphError("nodes: expected a list of nodes, each with id and path")
    nodes = tuple(_node(e, folder, drivers) for e in entries)
    seen: set[str] = set()
    for node in nodes:
        if node.id in seen:
            raise GraphError(f"two nodes have the id {node.id!r}; rename one")
        seen.add(node.id)
    return nodes


def _node(entry: Mapping[str, Any], folder: Path, drivers: tuple[str, ...]) -> GraphNode:
    if not isinstance(entry.get("id"), str):
        raise GraphError(f"a node has no id, or one that is no text: {str(dict(entry))[:80]}")
    parts: list[tuple[str, Mapping[str, Any]]] = [("", entry)]
    for operator in entry.get("operators") or ():
        parts.append((f"{operator.get('id', '?')}/", operator))
    if entry.get("operator"):
        parts.append((f"{entry['operator'].get('id') or 'op'}/", entry["operator"]))
    path = str(entry.get("path") or "")
    files = [f for _, part in parts for f in _files(part, folder)]
    role = _role(files, direct=path.endswith(".py"))
    return GraphNode(
        id=entry["id"],
        role="driver" if entry["id"] in drivers else role,
        path=path,
        file=files[0] if files else None,
        operators=len(parts) - 1,
        inputs=tuple(
            _edge(f"{p}{k}", v) for p, part in parts for k, v in (part.get("inputs") or {}).items()
        ),
        outputs=tuple(f"{p}{o}" for p, part in parts for o in part.get("outputs") or ()),
        env=entry.get("env") or {},
    )


def _edge(name: str, spec: Any) -> Edge:
    options = dict(spec) if isinstance(spec, Mapping) else {"source": spec}
    source, _, output = str(options.pop("source", "")).partition("/")
    return Edge(name=name, source=source, output=output, options=options)


def _files(part: Mapping[str, Any], folder: Path) -> list[Path]:
    """Return every Python file that a node or operator names, its own program first."""
    words = [str(part.get("path") or part.get("python") or "")]
    if isinstance(part.get("python"), Mapping):
        words = [str(part["python"].get("source", ""))]
    try:
        words += shlex.split(str(part.get("args") or ""))
    except ValueError:
        words += str(part.get("args")).split()
    files = [(folder / word).resolve() for word in words if word.endswith(".py")]
    modules = re.findall(r"interlock\.nodes\.(\w+)", " ".join(words))
    return files + [SHIPPED / f"{module}.py" for module in modules]


def _role(files: list[Path], *, direct: bool) -> Role:
    """Tell what a node is; a file that a wrapper runs can be a driver but never the Gate."""
    if any(same_file(f, driver) for f in files for driver in DRIVERS):
        return "driver"
    if files and direct:
        if same_file(files[0], GATE):
            return "gate"
        if same_file(files[0], TRACE):
            return "trace"
    if files and any(same_file(files[0], f) for f in SHIPPED.glob("[!_]*.py")):
        return "shipped"
    return "other"


def same_file(file: Path, shipped: Path) -> bool:
    """Return True for the shipped file itself, however it is reached, and for a copy of it."""
    if file == shipped:
        return True
    try:
        same_size = file.stat().st_size == shipped.stat().st_size
        return same_size and file.read_bytes() == shipped.read_bytes()
    except OSError:
        return False
