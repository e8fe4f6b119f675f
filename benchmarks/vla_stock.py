"""openpi's own client in an interpreter of its own, asked over a pipe for round-trip times."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from interlock.policies.vla.codec import pack

if TYPE_CHECKING:
    from types import TracebackType

_PROGRAM = """
import base64, json, sys, time
from openpi_client import msgpack_numpy
from openpi_client.websocket_client_policy import WebsocketClientPolicy
first = json.loads(sys.stdin.readline())
seen = dict(msgpack_numpy.unpackb(base64.b64decode(first["observation"])))
host, port = first["url"].removeprefix("ws://").split(":")
client = WebsocketClientPolicy(host=host, port=int(port))
for _ in range(20):
    client.infer(seen)
print("ready", flush=True)
for line in sys.stdin:
    times = []
    for _ in range(int(line)):
        started = time.perf_counter()
        client.infer(seen)
        times.append(time.perf_counter() - started)
    print(json.dumps(times), flush=True)
"""


class StockClient:
    """Measures the stock client; without it, ``reason`` says why and times are empty.

    Args:
        python: Interpreter with openpi-client; None tries ours.
        url: The server.
        seen: The observation to send.
    """

    def __init__(self, python: str | None, url: str, seen: dict[str, Any]) -> None:
        self._python = python or sys.executable
        self._first = {"url": url, "observation": base64.b64encode(pack(seen)).decode()}
        self._process: subprocess.Popen[str] | None = None
        self.reason = ""

    def __enter__(self) -> StockClient:
        """Start the client and let it warm up."""
        pipe = subprocess.PIPE
        command = [self._python, "-c", _PROGRAM]
        try:
            process = subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe, stderr=pipe)
        except OSError as error:
            self.reason = f"{self._python}: {error.strerror}"
            return self
        self._process = process
        if self._said(json.dumps(self._first)) != "ready":
            _, errors = process.communicate(timeout=10)
            last = errors.strip().splitlines()[-1:] or ["no word"]
            self.reason = f"{last[0]}; name an interpreter that has it with --stock-python"
            self._process = None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        """End the client."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def ask(self, n: int) -> list[float]:
        """Return how long each of ``n`` round trips took, in s; nothing without the client."""
        if self._process is None:
            return []
        times: list[float] = json.loads(self._said(str(n)))
        return times

    def _said(self, line: str) -> str:
        """Send one line and return the next one; nothing when the client is gone."""
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return ""
        return self._process.stdout.readline().strip()
