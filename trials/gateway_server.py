"""The HTTP server of a trial's gateway, on a unix socket: checks, reserves, forwards, settles.

This file reads the clock and opens connections.
"""

from __future__ import annotations

import contextlib
import hmac
import http.client
import json
import random
import socketserver
import threading
import time
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from interlock.trials.gateway_wire import connect, most_output, shape, usage_in
from interlock.trials.image_policy import limit_images
from interlock.trials.spend import most_input_tokens

if TYPE_CHECKING:
    from pathlib import Path

    from interlock.trials.gateway import Upstream
    from interlock.trials.retry import RetryPolicy
    from interlock.trials.spend import SpendCap

MAX_BODY = 64 * 1024 * 1024
ROUTES = ("/v1/messages", "/v1/messages/count_tokens", "/v1/chat/completions", "/v1/responses")


class GatewayServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """Serves one trial; one thread per call."""

    daemon_threads = True

    def __init__(
        self,
        upstream: Upstream,
        cap: SpendCap,
        *,
        socket: Path,
        key: str,
        log: Path,
        retry: RetryPolicy,
    ) -> None:
        super().__init__(str(socket), _Handler)
        self.upstream, self.cap, self.key, self.retry = upstream, cap, key, retry
        self.succeeded = self.failed = 0
        self.last_error = ""
        self._log = log
        self._lock = threading.Lock()
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        """Stop serving."""
        self.shutdown()
        self.server_close()

    def record(self, entry: dict[str, Any]) -> None:
        """Count a call and log it: counts and times, never content."""
        with self._lock:
            if entry["status"] == 200:
                self.succeeded += 1
            else:
                self.failed += 1
            with self._log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: GatewayServer

    def address_string(self) -> str:
        return "agent"

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: `record` does."""

    def do_GET(self) -> None:
        """List the one model there is."""
        if self._authorised():
            self._answer(200, {"object": "list", "data": [{"id": self.server.upstream.model}]})

    def do_POST(self) -> None:
        """Forward a call."""
        given = self.headers.get("Content-Length") or "0"
        length = int(given) if given.isdigit() else 0
        raw = self.rfile.read(length) if 0 < length <= MAX_BODY else b""
        if not self._authorised():
            return
        path = urlsplit(self.path).path
        if path not in ROUTES and not path.startswith("/v1beta/models/"):
            self._answer(404, _error(f"no route {path}; this gateway serves {', '.join(ROUTES)}"))
            return
        try:
            body = json.loads(raw)
            if not isinstance(body, dict):
                raise ValueError("a request is a JSON object")
        except ValueError as error:
            self._answer(400, _error(f"not JSON: {error}"))
            return
        self._forward(path, self._shaped(path, body))

    def _authorised(self) -> bool:
        given = self.headers.get("x-api-key") or self.headers.get("x-goog-api-key") or ""
        given = given or (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        if hmac.compare_digest(given.encode(), self.server.key.encode()):
            return True
        self._answer(401, _error("this is not the key of this trial"))
        return False

    def _shaped(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        upstream = self.server.upstream
        body, self._replaced = limit_images(body, at_most=upstream.max_images)
        return shape(path, body, model=upstream.model)

    def _forward(self, path: str, body: dict[str, Any]) -> None:
        started = time.monotonic()
        reserved = self.server.cap.reserve(most_input_tokens(body), most_output(body))
        if reserved is None:
            self._answer(402, _error("the spend cap of this trial is reached"))
            return
        usage: tuple[int, int] | None = None
        status, tries = 0, 0
        try:
            connection, response, tries = self._call(path, json.dumps(body).encode())
            with contextlib.closing(connection):
                status = response.status
                usage = self._pass_on(response)
        except (OSError, http.client.HTTPException) as error:
            self.server.last_error = f"{type(error).__name__}: {error}"
            with contextlib.suppress(OSError):
                self._answer(502, _error(f"the provider did not answer: {error}"))
        finally:
            if status == 200:
                self.server.cap.settle(reserved, usage)
            else:
                self.server.cap.release(reserved)
            # Settled before the answer ends, so the next call finds the money counted.
            self.server.record(
                {
                    "path": path,
                    "status": status,
                    "tries": tries,
                    "took_ms": round(1e3 * (time.monotonic() - started), 1),
                    "tokens": usage,
                    "pictures_replaced": self._replaced,
                }
            )
        if status:
            with contextlib.suppress(OSError):
                self.wfile.write(b"0\r\n\r\n")

    def _call(
        self, path: str, data: bytes
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse, int]:
        """Call the provider, again while it is busy; return the last answer, whatever it is."""
        draw, tries = random.Random(), 0
        while True:
            tries += 1
            connection = connect(self.server.upstream.url)
            try:
                connection.request("POST", self._target(path), data, self._headers())
                response = connection.getresponse()
                wait = self.server.retry.wait_s(
                    response.status, response.headers.get("Retry-After"), tries, draw
                )
                if wait is None:
                    return connection, response, tries
            except (OSError, http.client.HTTPException):
                wait = self.server.retry.wait_s(0, None, tries, draw)
                if wait is None:
                    raise
            connection.close()
            time.sleep(wait)

    def _target(self, path: str) -> str:
        base = urlsplit(self.server.upstream.url).path
        if base.endswith(("/openai", "/v4")):
            # These two serve the wire without its own version in the path.
            path = path.removeprefix("/v1")
        if path.startswith("/v1beta/models/"):
            path = f"/v1beta/models/{self.server.upstream.model}:{path.rpartition(':')[2]}"
        query = urlsplit(self.path).query
        kept = "alt=sse" if "alt=sse" in query else ""
        return f"{base}{path}" + (f"?{kept}" if kept else "")

    def _headers(self) -> dict[str, str]:
        upstream = self.server.upstream
        headers = {"Content-Type": "application/json", "User-Agent": "interlock-gateway"}
        for name in ("anthropic-version", "anthropic-beta"):
            if value := self.headers.get(name):
                headers[name] = value
        bearer = upstream.key_header == "Authorization"
        if upstream.key:
            headers[upstream.key_header] = f"Bearer {upstream.key}" if bearer else upstream.key
        return headers

    def _pass_on(self, response: http.client.HTTPResponse) -> tuple[int, int] | None:
        """Stream the answer to the agent; return the usage it reports."""
        kind = response.headers.get("Content-Type", "application/json")
        self.send_response(response.status)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        kept = bytearray()
        while part := response.read1(1 << 16):
            kept += part
            self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            self.wfile.flush()
        if response.status != 200:
            self.server.last_error = f"HTTP {response.status}: {bytes(kept[:300])!r}"
            return None
        return usage_in(bytes(kept))

    def _answer(self, status: int, data: dict[str, Any]) -> None:
        text = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def _error(text: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": "interlock_gateway", "message": text}}
