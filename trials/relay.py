"""Carry ports inside the sandbox to unix sockets of the runner, around one agent.

Free-standing, standard library only: a copy runs inside the sandbox as
``relay.py PORT=SOCKET... -- COMMAND...`` and ends with the command's exit code.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading


def main() -> None:
    """Listen, start the command, wait for it."""
    split = sys.argv.index("--")
    for pair in sys.argv[1:split]:
        port, _, path = pair.partition("=")
        listener = socket.create_server(("127.0.0.1", int(port)))
        threading.Thread(target=accept, args=(listener, path), daemon=True).start()
    sys.exit(subprocess.run(sys.argv[split + 1 :], check=False).returncode)


def accept(listener: socket.socket, path: str) -> None:
    """Connect every client to the socket behind."""
    while True:
        client, _ = listener.accept()
        behind = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            behind.connect(path)
        except OSError:
            client.close()
            continue
        for source, target in ((client, behind), (behind, client)):
            threading.Thread(target=carry, args=(source, target), daemon=True).start()


def carry(source: socket.socket, target: socket.socket) -> None:
    """Copy one direction until it ends."""
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    main()
