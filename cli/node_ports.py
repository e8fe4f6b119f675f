"""What the nodes of a dataflow declare; files that are not ours are read in a process of their own.

Run as `python -m interlock.cli.node_ports`, it reads the questions as JSON on stdin and prints the
answers as JSON. A file is imported only if it declares ``NODE``; a foreign dora node connects when
it is imported, so of it only the syntax and the modules it needs are looked at.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlock.cli.dora_tool import DoraError
from interlock.gate.graph_nodes import SHIPPED
from interlock.messages.errors import InterlockError

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """What one node file declares.

    Attributes:
        known: True when the file declares ``NODE``, so that the rest is complete.
        error: Why it can't be used, in one sentence; empty if it can.
        setting_error: What is wrong with its ``env:``; empty if nothing is.
        inputs: Input -> name of the message type it accepts; ``*`` accepts anything.
        outputs: Output -> names of the message type it sends and of its bases.
        settings: Names that ``env:`` may hold, in upper case, with their values here.
    """

    known: bool
    error: str = ""
    setting_error: str = ""
    inputs: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, list[str]] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)


def read_ports(questions: list[dict[str, Any]], *, timeout_s: float = 60.0) -> dict[str, Ports]:
    """Ask what nodes declare.

    Args:
        questions: Per node ``id``, ``file`` (text) and ``env`` (mapping).
        timeout_s: Time for all imports together, in s.

    Raises:
        DoraError: If a file never returns from its import, or ends the process.
    """
    shipped = [q for q in questions if Path(q["file"]).parent == SHIPPED]
    answers = {q["id"]: Ports(**_answer(q)) for q in shipped}
    foreign = [q for q in questions if q["id"] not in answers]
    return answers | (_read_apart(foreign, timeout_s) if foreign else {})


def _read_apart(questions: list[dict[str, Any]], timeout_s: float) -> dict[str, Ports]:
    try:
        done = subprocess.run(
            [sys.executable, "-m", "interlock.cli.node_ports"],
            input=json.dumps(questions, default=str),
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise DoraError(
            f"importing the node files takes longer than {timeout_s:.0f} s; a node file must only "
            "define its node, and work in its handlers"
        ) from error
    if done.returncode != 0:
        last = (done.stderr.strip() or "no output").splitlines()[-1]
        raise DoraError(f"importing the node files ended the process: {last}")
    return {name: Ports(**answer) for name, answer in json.loads(done.stdout).items()}


def _answer(question: dict[str, Any]) -> dict[str, Any]:
    file = Path(question["file"])
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except OSError as error:
        return {"known": False, "error": f"no file {file}: {error.strerror}"}
    except (SyntaxError, UnicodeDecodeError) as error:
        line = getattr(error, "lineno", None) or 1
        return {"known": False, "error": f"{file}:{line}: {getattr(error, 'msg', error)}"}
    if not _declares_node(tree):
        return {"known": False, "error": _missing_module(tree, file)}
    from interlock.nodes._registry import node_class
    from interlock.nodes._settings import from_env

    try:
        with _without_gl():
            cls = node_class({"id": question["id"], "path": str(file)}, file.parent)
    except InterlockError as error:
        return {"known": True, "error": str(error)}
    answer = {
        "known": True,
        "inputs": {k: getattr(v, "__name__", str(v)) for k, v in cls.inputs.items()},
        "outputs": {k: [c.__name__ for c in v.__mro__] for k, v in cls.outputs.items()},
    }
    try:
        env = {k: os.path.expandvars(v) if isinstance(v, str) else v for k, v in _env(question)}
        found = from_env(cls.Settings, env, where="env")
    except InterlockError as error:
        return answer | {"setting_error": str(error).removeprefix("env: ")}
    names = [f.name for f in dataclasses.fields(found)]
    return answer | {"settings": {n.upper(): str(getattr(found, n)) for n in names}}


@contextlib.contextmanager
def _without_gl() -> Iterator[None]:
    """Hide MUJOCO_GL, which fails `import mujoco` when it is wrong, though nothing is drawn."""
    asked = os.environ.pop("MUJOCO_GL", None)
    try:
        yield
    finally:
        if asked is not None:
            os.environ["MUJOCO_GL"] = asked


def _env(question: dict[str, Any]) -> list[tuple[str, Any]]:
    return list((question.get("env") or {}).items())


def _declares_node(tree: ast.Module) -> bool:
    for statement in tree.body:
        targets = getattr(statement, "targets", [getattr(statement, "target", None)])
        if any(isinstance(t, ast.Name) and t.id == "NODE" for t in targets):
            return True
    return False


def _missing_module(tree: ast.Module, file: Path) -> str:
    """Say which module a foreign file needs that is not installed; empty if none."""
    for statement in tree.body:
        names = [a.name for a in statement.names] if isinstance(statement, ast.Import) else []
        if isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
            names = [statement.module]
        for name in names:
            top = name.partition(".")[0]
            beside = (file.parent / f"{top}.py").exists() or (file.parent / top).is_dir()
            if importlib.util.find_spec(top) is None and not beside:
                return f"{file}:{statement.lineno}: module {top!r} is not installed: pip install it"
    return ""


def main() -> None:
    """Answer the questions on stdin."""
    questions = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        answers = {q["id"]: _answer(q) for q in questions}
    sys.stdout.write(json.dumps(answers))


if __name__ == "__main__":
    main()
