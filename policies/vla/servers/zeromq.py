"""Test server for the GR00T wire: one ZeroMQ reply socket in a thread."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from interlock.policies.vla.codec import Limits, pack, unpack
from interlock.policies.vla.errors import ReplyError
from interlock.policies.vla.servers.faults import TRACEBACK

if TYPE_CHECKING:
    from interlock.policies.vla.servers.stand import Stand


class ZeroMqServer:
    """Answers ping, reset and get_action, one at a time."""

    def __init__(self, stand: Stand, *, host: str, port: int) -> None:
        from zmq.constants import SocketOption, SocketType
        from zmq.sugar.context import Context

        self._stand = stand
        self._limits = Limits(frame_bytes=stand.max_frame_bytes)
        self._context = Context()
        self._socket = self._context.socket(SocketType.REP)
        self._socket.setsockopt(SocketOption.LINGER, 0)
        self._socket.setsockopt(SocketOption.MAXMSGSIZE, stand.max_frame_bytes)
        self._socket.bind(f"tcp://{host}:{port or '*'}")
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> str:
        """Start answering; return the URL."""
        from zmq.constants import SocketOption

        self._thread.start()
        endpoint: str = self._socket.getsockopt_string(SocketOption.LAST_ENDPOINT)
        return endpoint

    def stop(self) -> None:
        """End the thread and close the socket."""
        self._stopping.set()
        self._thread.join(10)
        self._socket.close(linger=0)
        self._context.term()

    def _run(self) -> None:
        while not self._stopping.is_set():
            if self._socket.poll(50):
                self._socket.send(self._answer(self._socket.recv()))

    def _answer(self, frame: bytes) -> bytes:
        try:
            request = unpack(frame, self._limits, what="request")
        except ReplyError as error:
            return pack({"error": str(error)})
        if not self._stand.accepts({"Authorization": f"Api-Key {request.get('api_token')}"}):
            return pack({"error": "Unauthorized: Invalid API token"})
        if request["endpoint"] != "get_action":
            return pack({"status": "ok"})
        return self._chunk(request["data"]["observation"])

    def _chunk(self, observation: dict[str, Any]) -> bytes:
        faults, number = self._stand.faults, self._stand.next_request()
        time.sleep(faults.delay_s(number))
        if faults.befalls("error", number):
            return pack({"error": TRACEBACK})
        if faults.befalls("closes", number):
            # A reply socket must answer; a server that dies leaves the client without one.
            self._stopping.wait()
        if faults.befalls("garbage", number):
            return b"\xc1 this is no message"
        if faults.huge_bytes:
            return b"\0" * faults.huge_bytes
        return pack([self._stand.parts(observation, number), {}], "npy")
