"""The rooms of docs/DESIGN section 1: who may import whom, and where dora and clocks may be."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

#: Room -> rooms of ours that it may import, besides itself.
MAY_IMPORT: dict[str, set[str]] = {
    "messages": set(),
    "operators": {"messages"},
    "gate": {"messages"},
    "robots": {"messages", "operators"},
    "policies": {"messages", "operators"},
    "trials": {"messages", "operators", "policies"},
    "nodes": {"messages", "operators", "gate", "robots", "policies", "configs"},
    "cli": {
        *("messages", "operators", "gate", "robots", "policies", "trials"),
        *("nodes", "configs", "benchmarks"),
    },
}
DATA = "configs"  # importlib.resources.files("interlock.configs") is no import
SOURCES = [p for room in MAY_IMPORT for p in sorted((ROOT / room).rglob("*.py"))]


def imported(path: Path) -> set[str]:
    """Return the dotted names that a file imports, also under TYPE_CHECKING and in functions."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_room_imports_only_the_rooms_below_it(path: Path) -> None:
    room = path.relative_to(ROOT).parts[0]
    rooms = {name.split(".")[1] for name in imported(path) if name.startswith("interlock.")}
    assert rooms <= MAY_IMPORT[room] | {room, DATA}


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_dora_is_imported_only_by_nodes_and_operators_of_dora(path: Path) -> None:
    room, *rest = path.relative_to(ROOT).parts
    allowed = (room == "nodes" and len(rest) == 1) or path.name.endswith("_op.py")
    assert allowed or not {n for n in imported(path) if n.split(".")[0] == "dora"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_file_imports_a_room_by_its_bare_name_or_unpickles(path: Path) -> None:
    assert not {n.split(".")[0] for n in imported(path)} & {*MAY_IMPORT, "pickle", "dill"}


@pytest.mark.parametrize("room", ["messages", "operators", "gate"])
def test_pure_rooms_read_no_clock(room: str) -> None:
    clocks = {"time.time", "time.time_ns", "time.monotonic", "time.monotonic_ns"}
    for path in (ROOT / room).rglob("*.py"):
        if path.name.endswith("_op.py"):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        assert not calls & clocks, f"{path.relative_to(ROOT)} reads {calls & clocks}"


@pytest.mark.parametrize("path", sorted(ROOT.glob("operators/*_op.py")), ids=lambda p: p.name)
def test_a_dora_operator_is_thirty_lines_at_most(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 30


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_file_and_its_functions_are_short(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 250
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            assert lines <= 40, f"{node.name} has {lines} lines"
