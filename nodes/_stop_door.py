"""An operator's door for what runs without a Gate's socket: `interlock stop` reaches it as well.

A trial on simulated time has its Gate in one process with everything else, and no socket of it.
"""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Any

from interlock.gate.control import socket_path
from interlock.messages import Stop
from interlock.nodes._gate_socket import Asked, GateSocket

if TYPE_CHECKING:
    from collections.abc import Callable

_POLL_S = 0.1


class StopDoor:
    """Listens as a Gate would, under a name of its own.

    Args:
        name: What `interlock stop --run` calls it.
        stop: Called with who stopped and why, in a thread of the door's own.
        status: Returns the state in one word, for who asks.
    """

    def __init__(
        self, name: str, stop: Callable[[str, str], None], status: Callable[[], str]
    ) -> None:
        self._stop, self._status = stop, status
        self._socket = GateSocket(socket_path(name))
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="stop-door", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._closing.set()
        self._socket.close()
        self._thread.join()

    def _serve(self) -> None:
        while not self._closing.is_set():
            try:
                asked = self._socket.asked.get(timeout=_POLL_S)
            except queue.Empty:
                continue
            asked.answer(self._answer(asked))

    def _answer(self, asked: Asked) -> dict[str, Any]:
        request = asked.request
        if isinstance(request, Stop):
            self._stop(request.by, request.reason)
            return {"ok": True, "state": "stopped", "at_rest": False}
        if request is None:
            return {"ok": True, "state": self._status()}
        return {"ok": False, "error": "a stopped trial does not go on; start it anew"}
