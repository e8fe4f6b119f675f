"""Talk to the skills node or the experiment node of a running graph over its socket."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING, Any

from interlock.gate.keyfile import key_folder
from interlock.messages.errors import InterlockError, nearest

if TYPE_CHECKING:
    from pathlib import Path

SKILLS = ".desk.sock"
EXPERIMENT = ".sim.sock"
_ROLE = {SKILLS: "skills", EXPERIMENT: "experiment"}
_TIMEOUT_S = 10.0


class DeskError(InterlockError):
    """No skills node answers, or it says no."""


def desk_path(run_id: str = "", *, suffix: str = SKILLS) -> Path:
    """Return the socket of a run, or of the only run that listens.

    Raises:
        DeskError: If there is none, or more than one and no run was named.
    """
    folder, role = key_folder(), _ROLE[suffix]
    found = {p.name.removesuffix(suffix): p for p in folder.glob(f"*{suffix}")}
    found = {run: path for run, path in found.items() if _answers(path)}
    if run_id:
        if run_id not in found:
            raise DeskError(f"no {role} node of run {run_id!r} listens; {nearest(run_id, found)}")
        return found[run_id]
    if not found:
        raise DeskError(
            f"no {role} node listens on this machine for this user. Start one with "
            "`interlock serve`."
        )
    if len(found) > 1:
        raise DeskError(f"several runs listen; name one with --run: {', '.join(sorted(found))}")
    return next(iter(found.values()))


def ask(request: dict[str, Any], run_id: str = "", *, suffix: str = SKILLS) -> dict[str, Any]:
    """Send one request and return the answer.

    Raises:
        DeskError: If nobody answers or the answer is an error.
    """
    path = desk_path(run_id, suffix=suffix)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_TIMEOUT_S)
            connection.connect(str(path))
            connection.sendall(json.dumps(request).encode() + b"\n")
            with connection.makefile("rb") as lines:
                answer = json.loads(lines.readline(2_000_000))
    except (OSError, ValueError) as error:
        raise DeskError(f"no answer from {path}: {error}") from error
    if not isinstance(answer, dict) or not answer.get("ok"):
        reason = answer.get("error") if isinstance(answer, dict) else answer
        raise DeskError(str(reason))
    return answer


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(0.5)
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True
