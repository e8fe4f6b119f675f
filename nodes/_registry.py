"""Find the node class behind `path:` in a dataflow, without starting a process."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

from interlock.messages import InterlockError
from interlock.nodes._node import Node

#: Folder of the nodes that ship with Interlock.
OURS = Path(__file__).resolve().parent


class NodeImportError(InterlockError):
    """A node file that is missing, does not import, or declares no node."""


def node_class(spec: dict[str, Any], dataflow_dir: Path) -> type[Node]:
    """Import the node of one entry of the dataflow and return its class (``NODE``).

    Raises:
        NodeImportError: Naming the node, the file and what was wrong.
    """
    node_id, path = spec.get("id", "?"), spec.get("path")
    if not isinstance(path, str) or not path.endswith(".py"):
        raise NodeImportError(
            f"node {node_id}: only Python node files run in one process, got path: {path!r}"
        )
    file = (dataflow_dir / path).resolve()
    if not file.is_file():
        raise NodeImportError(f"node {node_id}: no file {file}. Correct path: in the dataflow.")
    try:
        module = _import(file)
    except InterlockError:
        raise
    except Exception as error:
        raise NodeImportError(
            f"node {node_id}: {file.name} fails to import: {type(error).__name__}: {error}"
        ) from error
    cls = getattr(module, "NODE", None)
    if not (isinstance(cls, type) and issubclass(cls, Node)):
        raise NodeImportError(
            f"node {node_id}: {file.name} has no NODE = <class of interlock.nodes._node.Node>"
        )
    return cls


def _import(file: Path) -> Any:
    if file.parent == OURS:
        return importlib.import_module(f"interlock.nodes.{file.stem}")
    name = f"interlock_user_node_{file.stem}_{abs(hash(str(file)))}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise NodeImportError(f"{file} cannot be loaded as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
