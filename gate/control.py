"""What an operator says to the Gate over its own socket: one JSON line each way.

The socket lies in a folder of mode 0700 (``keyfile.py``) and is answered by the Gate's process
itself, so a stop needs no policy, no other node and no dora.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from interlock.gate.errors import GateError
from interlock.gate.keyfile import key_folder
from interlock.messages.task import Reset, Stop

if TYPE_CHECKING:
    from pathlib import Path

#: Longest line that is read, in bytes.
MAX_LINE = 4096
SUFFIX = ".gate.sock"
_FIELDS: dict[str, dict[str, type]] = {
    "stop": {"by": str, "reason": str, "category": int},
    "reset": {"by": str},
    "status": {},
}


class ControlError(GateError, ValueError):
    """A line that is no request to the Gate."""


def socket_path(run_id: str) -> Path:
    """Return where the Gate of a run listens."""
    return key_folder() / f"{run_id}{SUFFIX}"


def running_gates() -> dict[str, Path]:
    """Return the sockets in the folder, by run id; some may be left over from a killed Gate."""
    folder = key_folder()
    found = sorted(folder.glob(f"*{SUFFIX}")) if folder.is_dir() else []
    return {path.name.removesuffix(SUFFIX): path for path in found}


def parse_line(line: bytes) -> Stop | Reset | None:
    """Return the request of a line; None asks for the status.

    Raises:
        ControlError: If it is not one.
    """
    if len(line) > MAX_LINE:
        raise ControlError(f"expected at most {MAX_LINE} bytes, got more")
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ControlError("expected one line of JSON") from error
    kind = data.get("do") if isinstance(data, dict) else None
    if not isinstance(kind, str) or kind not in _FIELDS:
        raise ControlError(f"expected 'do' to be one of {', '.join(_FIELDS)}, got {kind!r:.40}")
    fields = {name: value for name, value in data.items() if name != "do"}
    for name, value in fields.items():
        if type(value) is not _FIELDS[kind].get(name):
            raise ControlError(f"{kind}: field {name!r:.40} is unknown or of the wrong type")
    if kind == "status":
        return None
    if kind == "reset":
        return Reset(by=str(fields.get("by", "")))
    category = fields.get("category", 1)
    if category not in (0, 1, 2):
        raise ControlError(f"stop: category: expected 0, 1 or 2, got {category}")
    return Stop(
        by=str(fields.get("by", "")), reason=str(fields.get("reason", "")), category=category
    )


def to_line(answer: dict[str, Any]) -> bytes:
    """Return an answer as one line."""
    return json.dumps(answer).encode() + b"\n"
