"""A dataflow file as its author sees it: what it says, and on which line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from interlock.messages.errors import SettingsError
from interlock.messages.settings import read_yaml

if TYPE_CHECKING:
    from pathlib import Path

#: Keys of a node whose entries have a name of their own.
_NAMED = ("inputs", "env", "outputs")


@dataclass(frozen=True, slots=True, kw_only=True)
class DataflowFile:
    """A dataflow YAML file.

    Attributes:
        path: The file.
        data: What it holds, modules not expanded.
        lines: (node id, item) -> line from 1; item is an input, output, setting or key of the
            node, or "" for the node itself.
    """

    path: Path
    data: dict[str, Any]
    lines: dict[tuple[str, str], int]

    @property
    def has_modules(self) -> bool:
        """True when dora must expand it before its nodes are known."""
        nodes = self.data["nodes"]
        return any(isinstance(n, dict) and "module" in n for n in nodes)

    def place(self, node_id: str, item: str = "") -> str:
        """Return ``file:line`` of a node or of one of its items, as near as is known."""
        module = node_id.partition(".")[0]
        for key in ((node_id, item), (node_id, ""), (module, "")):
            if key in self.lines:
                return f"{self.path}:{self.lines[key]}"
        return str(self.path)


def read_dataflow_file(path: Path) -> DataflowFile:
    """Read a dataflow file.

    Raises:
        SettingsError: If it is missing, is no YAML, repeats a key or has no list of nodes.
    """
    data = read_yaml(path)
    if not isinstance(data.get("nodes"), list):
        raise SettingsError(f"{path}: expected nodes: followed by a list; is it a dataflow?")
    root = yaml.compose(path.read_text(encoding="utf-8"), yaml.SafeLoader)
    return DataflowFile(path=path, data=data, lines=_lines(root))


def _lines(root: Any) -> dict[tuple[str, str], int]:
    lines: dict[tuple[str, str], int] = {}
    for entry in _items(_get(root, "nodes")):
        name = _get(entry, "id")
        if not isinstance(name, yaml.ScalarNode):
            continue
        node_id = str(name.value)
        lines[node_id, ""] = entry.start_mark.line + 1
        operators = [*_items(_get(entry, "operators")), _get(entry, "operator")]
        for part in (entry, *operators):
            _add_items(lines, node_id, part)
    return lines


def _add_items(lines: dict[tuple[str, str], int], node_id: str, part: Any) -> None:
    if not isinstance(part, yaml.MappingNode):
        return
    for key, value in part.value:
        lines.setdefault((node_id, str(key.value)), key.start_mark.line + 1)
        if key.value not in _NAMED:
            continue
        named = value.value if isinstance(value, yaml.CollectionNode) else ()
        for item in named:
            scalar = item[0] if isinstance(item, tuple) else item
            if isinstance(scalar, yaml.ScalarNode):
                lines[node_id, str(scalar.value)] = scalar.start_mark.line + 1


def _get(node: Any, name: str) -> Any:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value == name:
                return value
    return None


def _items(node: Any) -> list[Any]:
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []
