"""Ask the control plane of a bridge: reset, result, contract, capabilities."""

from __future__ import annotations

import itertools
import json
import socket
import threading
import time
from typing import Any

from interlock.robots.bridge.control import BUSY, MAX_LINE_BYTES
from interlock.robots.bridge.faults import BridgeError, BusyError

_RETRY_S = 0.05


class ControlClient:
    """One connection; after a missed answer it is dropped, so that no answer is taken for another.

    Args:
        port: Port of the control plane.
        host: Its address.
        token: Secret of the bridge, if it has one.
        timeout_s: Longest wait for one answer.
    """

    def __init__(
        self,
        port: int,
        host: str = "127.0.0.1",
        *,
        token: str | None = None,
        timeout_s: float = 300.0,
    ) -> None:
        self._address = (host, port)
        self._token = token
        self._timeout_s = timeout_s
        self._ids = itertools.count(1)
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._rest = b""

    def call(self, method: str, **params: Any) -> Any:
        """Send one request and return its result.

        Raises:
            BusyError: If the bridge can't do it now.
            BridgeError: If it refuses, does not answer in time, or the connection is lost.
        """
        with self._lock:
            try:
                answer = self._exchange(method, params)
            except (OSError, ValueError) as error:
                self._drop()
                raise BridgeError(
                    f"{method}: no answer from the bridge at port {self._address[1]} ({error}); "
                    "its process ended, or it took too long"
                ) from error
        refusal = answer.get("error")
        if refusal is None:
            return answer.get("result")
        kind = BusyError if refusal.get("code") == BUSY else BridgeError
        raise kind(str(refusal.get("message")))

    def reset(self, task: dict[str, Any], *, wait_s: float) -> dict[str, Any]:
        """Start an episode; while every slot is taken, try again until ``wait_s`` are over."""
        end = time.monotonic() + wait_s
        while True:
            try:
                started: dict[str, Any] = self.call("reset", **task)
            except BusyError as error:
                if time.monotonic() > end:
                    raise BusyError(f"{error} (waited {wait_s:g} s)") from error
                time.sleep(_RETRY_S)
            else:
                return started

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._drop()

    def _exchange(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if self._socket is None:
            self._socket = socket.create_connection(self._address, timeout=self._timeout_s)
            self._rest = b""
        id = next(self._ids)
        request = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        if self._token is not None:
            request["auth"] = self._token
        try:
            line = json.dumps(request).encode()
        except TypeError as error:
            raise BridgeError(f"{method}: arguments must be plain JSON values: {error}") from error
        self._socket.sendall(line + b"\n")
        while True:
            answer = json.loads(self._line())
            if answer.get("id") in (id, None):
                return dict(answer)

    def _line(self) -> bytes:
        pieces = [self._rest]
        size = len(self._rest)
        while b"\n" not in pieces[-1]:
            assert self._socket is not None
            piece = self._socket.recv(1 << 16)
            size += len(piece)
            if not piece:
                raise ConnectionError("the connection closed")
            if size > MAX_LINE_BYTES:
                raise ConnectionError(f"the answer is over {MAX_LINE_BYTES} bytes")
            pieces.append(piece)
        line, _, self._rest = b"".join(pieces).partition(b"\n")
        return line

    def _drop(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket, self._rest = None, b""
