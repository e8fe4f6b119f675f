"""Ask the episode over its unix socket; one connection, kept open."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING, Any

from interlock.trials.errors import RefusedError, UsageError

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType


class RoboClient:
    """A connection to an episode; use it in a ``with`` block."""

    def __init__(self, path: Path, *, timeout_s: float = 3600.0) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout_s)
        self._socket.connect(str(path))
        self._file = self._socket.makefile("rb")

    def __enter__(self) -> RoboClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
        self._socket.close()

    def ask(self, verb: str, **values: Any) -> dict[str, Any]:
        """Send a request and return the whole reply, refused or not."""
        return self._exchange({"verb": verb, **values})

    def type(self, line: str) -> dict[str, Any]:
        """Send a line as it would be typed after ``robo``, and return its result.

        Raises:
            UsageError: If it is badly asked.
            RefusedError: If it is refused.
        """
        reply = self._exchange({"argv": line.split()})
        if reply["ok"]:
            return dict(reply.get("result", {}))
        if reply.get("exit") == 2:
            raise UsageError(f"{line}: {reply['error']}")
        way_out = reply.get("refused", {}).get("way_out", "")
        raise RefusedError(f"{line}: {reply['error']}", way_out=way_out)

    def _exchange(self, request: dict[str, Any]) -> dict[str, Any]:
        self._socket.sendall(json.dumps(request).encode() + b"\n")
        line = self._file.readline()
        if not line:
            raise RefusedError(
                "the episode hung up", way_out="It is over", codes=("episode_closed",)
            )
        reply: dict[str, Any] = json.loads(line)
        return reply
