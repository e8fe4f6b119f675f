"""The only other way out of the sandbox: tunnels to hosts that the person who runs it named.

A small HTTP proxy on a unix socket that knows CONNECT alone. This file opens connections.
"""

from __future__ import annotations

import contextlib
import re
import socket
import socketserver
import threading
from typing import TYPE_CHECKING

from interlock.trials.errors import PreflightError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

HEAD_LIMIT = 8192
CONNECT_S = 10.0
IDLE_S = 600.0
_REQUEST = re.compile(rb"CONNECT ([A-Za-z0-9.-]+):(\d{1,5}) HTTP/1\.[01]\r\n")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:\d{1,5})?")


def parse_hosts(names: Iterable[str]) -> frozenset[tuple[str, int]]:
    """Return host and port of each name; port 443 when none is given.

    Raises:
        PreflightError: If a name is no host, e.g. a wildcard or a URL.
    """
    hosts = set()
    for name in names:
        if not _HOST.fullmatch(name):
            raise PreflightError(f"--allow-host {name!r}: write a host, or host:port")
        host, _, port = name.partition(":")
        hosts.add((host.lower(), int(port or 443)))
    return frozenset(hosts)


class EgressProxy(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """Tunnels to the allowed hosts; everything else is refused and counted."""

    daemon_threads = True

    def __init__(self, path: Path, hosts: Collection[tuple[str, int]]) -> None:
        super().__init__(str(path), _Handler)
        self.path, self.hosts = path, hosts
        self.refused = 0
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        """Stop serving."""
        self.shutdown()
        self.server_close()


class _Handler(socketserver.BaseRequestHandler):
    server: EgressProxy

    def handle(self) -> None:
        """Read one request and carry bytes both ways."""
        client: socket.socket = self.request
        client.settimeout(CONNECT_S)
        with contextlib.suppress(OSError):
            match = _REQUEST.match(_head(client))
            target = (match[1].decode().lower(), int(match[2])) if match else None
            if target is None or target not in self.server.hosts:
                self.server.refused += 1
                client.sendall(b"HTTP/1.1 403 Not an allowed host\r\nContent-Length: 0\r\n\r\n")
                return
            with socket.create_connection(target, timeout=CONNECT_S) as server:
                client.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
                other = threading.Thread(target=_carry, args=(server, client), daemon=True)
                other.start()
                _carry(client, server)
                other.join(IDLE_S)


def _head(client: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data and len(data) < HEAD_LIMIT:
        part = client.recv(1)
        if not part:
            break
        data += part
    return data


def _carry(source: socket.socket, target: socket.socket) -> None:
    source.settimeout(IDLE_S)
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
