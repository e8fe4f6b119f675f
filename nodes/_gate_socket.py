"""The Gate's own socket: a thread that takes an operator's line and waits for the Gate to act."""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
from typing import TYPE_CHECKING, Any

from interlock.gate.control import MAX_LINE, ControlError, parse_line, to_line
from interlock.gate.keyfile import private_folder

if TYPE_CHECKING:
    from pathlib import Path

    from interlock.messages import Reset, Stop

#: Longest wait for a line, and for the Gate to act on it, in s.
_LINE_S = 1.0
_ACT_S = 2.0
_BACKLOG = 16


class Asked:
    """A request and the place for its answer."""

    def __init__(self, request: Stop | Reset | None) -> None:
        self.request = request
        self._answered = threading.Event()
        self._answer: dict[str, Any] = {}

    def answer(self, values: dict[str, Any]) -> None:
        """Give the answer; called by the Gate."""
        self._answer = values
        self._answered.set()

    def wait(self, timeout_s: float) -> dict[str, Any]:
        """Return the answer, or say that the Gate has not acted yet."""
        if not self._answered.wait(timeout_s):
            return {"ok": False, "error": f"the Gate has not acted within {timeout_s:.0f} s"}
        return self._answer


class GateSocket:
    """Listens from the moment it is made; what arrives waits in ``asked``.

    Attributes:
        asked: Requests in the order in which they arrived; the Gate takes them at every event.
    """

    def __init__(self, path: Path) -> None:
        private_folder(path.parent)
        path.unlink(missing_ok=True)
        self._path = path
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._server.bind(str(path))
        path.chmod(0o600)
        self._server.listen(_BACKLOG)
        self.asked: queue.Queue[Asked] = queue.Queue(maxsize=_BACKLOG)
        self._thread = threading.Thread(target=self._serve, daemon=True, name="gate-socket")
        self._thread.start()

    def close(self) -> None:
        """Stop listening and remove the socket."""
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._path.unlink(missing_ok=True)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            # One thread each: a connection that says nothing must not delay a stop.
            threading.Thread(target=self._one, args=(connection,), daemon=True).start()

    def _one(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(_LINE_S)
            try:
                asked = Asked(parse_line(_line(connection)))
                self.asked.put(asked, timeout=_ACT_S)
                answer = asked.wait(_ACT_S)
            except ControlError as error:
                answer = {"ok": False, "error": str(error)}
            except queue.Full:
                answer = {"ok": False, "error": "the Gate does not act on requests"}
            connection.sendall(to_line(answer))


def _line(connection: socket.socket) -> bytes:
    received = b""
    while b"\n" not in received and len(received) <= MAX_LINE:
        part = connection.recv(MAX_LINE)
        if not part:
            break
        received += part
    return received.partition(b"\n")[0]
