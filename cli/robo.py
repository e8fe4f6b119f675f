"""The `robo` command: send what was typed to the episode's socket and print the answer.

Standard library only and free-standing: a trial copies this file into the agent's workspace.
"""

from __future__ import annotations

import json
import os
import socket
import sys

TYPE_CHECKING = False  # The typing module would add to the start-up time.
if TYPE_CHECKING:
    from typing import Any

VARIABLE = "INTERLOCK_ROBO_SOCKET"
POINTER = ".interlock/socket"


def main() -> None:
    """Entry point: exit 0 when it was done, 1 when refused, 2 when badly asked."""
    words = sys.argv[1:]
    raw = "--json" in words
    words = [word for word in words if word != "--json"]
    try:
        reply = ask({"argv": words})
    except (OSError, ValueError) as error:
        sys.stderr.write(f"robo: no episode answers ({error}); it may be finished\n")
        sys.exit(1)
    try:
        show(reply, raw)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(int(reply.get("exit", 0 if reply.get("ok") else 1)))


def ask(request: dict[str, Any]) -> dict[str, Any]:
    """Send one request over a fresh connection and return the reply."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(socket_path())
        connection.sendall(json.dumps(request).encode() + b"\n")
        data = bytearray()
        while not data.endswith(b"\n"):
            part = connection.recv(1 << 16)
            if not part:
                raise OSError("the connection was closed")
            data += part
    reply: dict[str, Any] = json.loads(data)
    return reply


def socket_path() -> str:
    """Return where the episode listens: the environment, else a file in the workspace."""
    if path := os.environ.get(VARIABLE):
        return path
    if os.path.exists(POINTER):
        with open(POINTER, encoding="utf-8") as file:
            return file.read().strip()
    raise OSError(f"neither {VARIABLE} nor {POINTER} is there")


def show(reply: dict[str, Any], raw: bool) -> None:
    """Print a reply: pictures go to files, refusals to stderr."""
    if "help" in reply and not raw:
        sys.stdout.write(reply["help"] + "\n")
        return
    for image in reply.get("result", {}).get("images", ()):
        image["path"] = save(image["camera"], image.pop("png_base64"))
    if raw or reply.get("ok"):
        shown = reply if raw else {**reply.get("result", {}), "budget": reply.get("budget")}
        sys.stdout.write(json.dumps(shown) + "\n")
    else:
        sys.stderr.write(f"error: {reply.get('error')}\n")


def save(camera: str, png_base64: str) -> str:
    """Write a picture under ./observations and return its path."""
    import binascii

    os.makedirs("observations", exist_ok=True)
    number = len(os.listdir("observations"))
    path = os.path.join("observations", f"{number:04d}_{camera}.png")
    with open(path, "wb") as file:
        file.write(binascii.a2b_base64(png_base64))
    return path


if __name__ == "__main__":
    main()
