"""`interlock stop` and `interlock reset`: an operator's word, straight to the Gate's socket."""

from __future__ import annotations

import json
import os
import socket
from typing import TYPE_CHECKING, Any

import click

from interlock.gate.control import running_gates, to_line
from interlock.messages.errors import InterlockError, nearest

if TYPE_CHECKING:
    from pathlib import Path

_TIMEOUT_S = 3.0


class OperatorError(InterlockError):
    """The operator's word did not reach a Gate."""


@click.command()
@click.option("--run", "run_id", default="", help="Run to stop; every running Gate if left out.")
@click.option("--reason", default="", help="Why, for the trace.")
@click.option("--category", type=click.IntRange(0, 2), default=1, show_default=True,
              help="Stop category of IEC 60204-1.")  # fmt: skip
def stop(run_id: str, reason: str, category: int) -> None:
    """Stop the arm now, and keep it stopped until `interlock reset`."""
    request = {"do": "stop", "by": _operator(), "reason": reason, "category": category}
    _tell_all(run_id, request, done="stopped")


@click.command()
@click.option("--run", "run_id", default="", help="Run to release; every running Gate if left out.")
def reset(run_id: str) -> None:
    """Release the operator stop; nothing moves until a task is started anew."""
    _tell_all(run_id, {"do": "reset", "by": _operator()}, done="released")


def _tell_all(run_id: str, request: dict[str, Any], *, done: str) -> None:
    gates = running_gates()
    if run_id and run_id not in gates:
        raise OperatorError(f"no Gate of run {run_id!r} listens here; {nearest(run_id, gates)}")
    chosen = {run_id: gates[run_id]} if run_id else gates
    answers = {run: _ask(path, request) for run, path in chosen.items()}
    # A socket nobody answers is left over from a Gate that was killed: its driver is at rest.
    reached = {run: answer for run, answer in answers.items() if answer is not None}
    if not reached:
        raise OperatorError(
            "no Gate listens on this machine for this user. If a run is going on, name its key "
            "folder with XDG_RUNTIME_DIR as it was when the run started."
        )
    failed = [f"{run}: {a.get('error')}" for run, a in reached.items() if not a.get("ok")]
    for run, answer in reached.items():
        if answer.get("ok"):
            rest = "at rest" if answer.get("at_rest") else "coming to rest"
            click.echo(f"{run}: {done}, {rest}")
    if failed:
        raise OperatorError("; ".join(failed))


def _ask(path: Path, request: dict[str, Any]) -> dict[str, Any] | None:
    """Return the Gate's answer; None when nobody listens."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_TIMEOUT_S)
            connection.connect(str(path))
            connection.sendall(to_line(request))
            with connection.makefile("rb") as lines:
                answer = json.loads(lines.readline(65536))
    except (ConnectionRefusedError, FileNotFoundError):
        return None
    except (OSError, ValueError) as error:
        return {"ok": False, "error": f"no answer from {path}: {error}"}
    return dict(answer) if isinstance(answer, dict) else {"ok": False, "error": "no answer"}


def _operator() -> str:
    return os.environ.get("USER", "") or f"user {os.getuid()}"
