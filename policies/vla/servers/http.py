"""Test servers for the HTTP wires: OpenVLA and http-json."""

from __future__ import annotations

import http.server
import threading
import time
from typing import TYPE_CHECKING, Any

from interlock.policies.vla.codec import Limits, pack_json, unpack_json
from interlock.policies.vla.errors import ReplyError
from interlock.policies.vla.servers.faults import TRACEBACK

if TYPE_CHECKING:
    from interlock.policies.vla.servers.stand import Stand


class HttpServer:
    """Serves one of the two protocols, each connection in a thread."""

    def __init__(self, stand: Stand, *, host: str, port: int) -> None:
        handler = type("Handler", (_Handler,), {"stand": stand})
        self._server = http.server.ThreadingHTTPServer((host, port), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True
        )

    def start(self) -> str:
        """Start listening; return the URL."""
        self._thread.start()
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}"

    def stop(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):
    stand: Stand
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer /health; OpenVLA's server has no such page and says so."""
        self._send(200 if self.path == "/health" else 404, b"{}")

    def do_POST(self) -> None:
        """Answer /reset and /act."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not self.stand.accepts(dict(self.headers)):
            self._send(401, b"no token")
            return
        if self.path == "/reset":
            self._send(200, b"{}")
            return
        try:
            observation = unpack_json(body, Limits(frame_bytes=self.stand.max_frame_bytes))
        except ReplyError as error:
            self._send(400, str(error).encode())
            return
        number = self.stand.next_request()
        time.sleep(self.stand.faults.delay_s(number))
        if not self._misbehaves(number):
            self._send(200, pack_json(self._answer(observation, number)))

    def _answer(self, observation: dict[str, Any], number: int) -> Any:
        actions = self.stand.actions(observation, number, json=True)
        if self.stand.kind == "openvla":
            # deploy.py sends JSON inside a JSON string when asked for a double encoding.
            return pack_json(actions).decode()
        if hasattr(actions, "tolist"):
            actions = actions.tolist()
        return {"actions": actions, "latency_s": 0.0001}

    def _misbehaves(self, number: int) -> bool:
        faults = self.stand.faults
        if faults.befalls("error", number):
            self._send(500, TRACEBACK.encode())
        elif faults.befalls("closes", number):
            self.close_connection = True
            self.connection.close()
        elif faults.befalls("garbage", number):
            self._send(200, b"\xff{ no json")
        elif faults.huge_bytes:
            self._send(200, b" " * faults.huge_bytes)
        else:
            return False
        return True

    def _send(self, status: int, body: bytes) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            # The client gave up; a late answer has nobody to go to.
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Stay quiet."""
