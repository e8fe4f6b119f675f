"""The desk's socket: JSON lines from clients to the node and back; threads live only here."""

from __future__ import annotations

import contextlib
import itertools
import json
import queue
import socket
import struct
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from interlock.gate.keyfile import private_folder
from interlock.messages import InterlockError

if TYPE_CHECKING:
    from pathlib import Path

#: Longest line from a client, in bytes.
MAX_LINE = 1_000_000
MAX_CLIENTS = 32
#: A client that does not read its answers for this long is dropped, in s.
SEND_S = 5.0


class DeskSocketError(InterlockError):
    """The desk cannot listen."""


@dataclass(frozen=True, slots=True)
class Line:
    """One request of a client; ``request`` is None when the client has gone."""

    client: str
    request: Any
    connection: socket.socket


class DeskSocket:
    """Listens on a unix socket that only this user can open.

    Attributes:
        lines: What clients said, in order; the node takes it at every event.
    """

    def __init__(self, path: Path) -> None:
        private_folder(path.parent)
        if _answers(path):
            raise DeskSocketError(
                f"another server listens on {path}. End it first, or start a run of its own."
            )
        path.unlink(missing_ok=True)
        self._path = path
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._server.bind(str(path))
        path.chmod(0o600)
        self._server.listen(MAX_CLIENTS)
        self.lines: queue.Queue[Line] = queue.Queue(maxsize=1000)
        self._names = itertools.count(1)
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._serve, daemon=True, name="desk").start()

    def close(self) -> None:
        """Stop listening, drop every client and remove the socket."""
        for connection in (self._server, *tuple(self._open)):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
        self._path.unlink(missing_ok=True)

    def answer(self, line: Line, values: dict[str, Any]) -> None:
        """Send an answer; a client that does not take it is dropped."""
        data = json.dumps(values).encode() + b"\n"
        try:
            line.connection.sendall(data)
        except OSError:
            with contextlib.suppress(OSError):
                line.connection.shutdown(socket.SHUT_RDWR)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            if len(self._open) >= MAX_CLIENTS:
                connection.close()
                continue
            self._open.add(connection)
            name = f"client-{next(self._names)}"
            threading.Thread(target=self._read, args=(connection, name), daemon=True).start()

    def _read(self, connection: socket.socket, name: str) -> None:
        # The time-out is for sending: reading waits as long as the client likes.
        connection.settimeout(None)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _timeval(SEND_S))
        with contextlib.suppress(OSError), connection.makefile("rb") as lines:
            while raw := lines.readline(MAX_LINE + 1):
                if len(raw) > MAX_LINE:
                    self.answer(Line(name, {}, connection), _error("a line over 1 MB"))
                    break
                try:
                    request = json.loads(raw)
                except (ValueError, RecursionError):
                    self.answer(Line(name, {}, connection), _error("expected one line of JSON"))
                    continue
                self.lines.put(Line(name, request, connection))
        self._open.discard(connection)
        self.lines.put(Line(name, None, connection))
        connection.close()


def _error(text: str) -> dict[str, Any]:
    return {"ok": False, "error": text}


def _timeval(seconds: float) -> bytes:
    return struct.pack("ll", int(seconds), int(seconds % 1 * 1e6))


def _answers(path: Path) -> bool:
    if not path.exists():
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(0.5)
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True
