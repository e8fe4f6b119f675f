"""An MCP server over stdio for one episode: its tools are the verbs, asked from the episode.

Free-standing, standard library only: a copy lies in the agent's workspace. Every call runs in a
thread of its own, so a long motion blocks neither pings nor other tools.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
HEARTBEAT_S = 5.0
LOCK = threading.Lock()


def main() -> None:
    """Serve until the input ends."""
    for line in sys.stdin:
        with contextlib.suppress(ValueError):
            message = json.loads(line)
            if isinstance(message, dict) and "id" in message:
                threading.Thread(target=answer, args=(message,)).start()


def answer(message: dict[str, Any]) -> None:
    """Answer one request."""
    method, parameters = message.get("method"), message.get("params") or {}
    if method == "initialize":
        asked = parameters.get("protocolVersion")
        result: dict[str, Any] = {
            "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "robo", "version": "1"},
        }
    elif method == "ping":
        result = {}
    elif method == "tools/list":
        tools = ask({"tools": True})["tools"]
        result = {"tools": [{**t, "inputSchema": t.pop("input_schema")} for t in tools]}
    elif method == "tools/call":
        result = call(parameters)
    else:
        error = {"code": -32601, "message": f"no method {method}"}
        send({"jsonrpc": "2.0", "id": message["id"], "error": error})
        return
    send({"jsonrpc": "2.0", "id": message["id"], "result": result})


def call(parameters: dict[str, Any]) -> dict[str, Any]:
    """Call one verb, with heartbeats while it runs if the client gave a token."""
    token = (parameters.get("_meta") or {}).get("progressToken")
    over = threading.Event()
    if token is not None:
        threading.Thread(target=heartbeats, args=(token, over), daemon=True).start()
    try:
        values = parameters.get("arguments") or {}
        reply = ask({"verb": parameters.get("name"), **values})
    except (OSError, ValueError) as error:
        reply = {"ok": False, "error": f"no episode answers ({error}); it may be finished"}
    finally:
        over.set()
    images = reply.get("result", {}).pop("images", [])
    content: list[dict[str, Any]] = [{"type": "text", "text": json.dumps(reply)}]
    content += [
        {"type": "image", "mimeType": "image/png", "data": image["png_base64"]} for image in images
    ]
    return {"content": content, "isError": not reply.get("ok")}


def heartbeats(token: object, over: threading.Event) -> None:
    """Report progress so that the client does not give up waiting."""
    count = 0
    while not over.wait(HEARTBEAT_S):
        count += 1
        parameters = {"progressToken": token, "progress": count}
        send({"jsonrpc": "2.0", "method": "notifications/progress", "params": parameters})


def ask(request: dict[str, Any]) -> dict[str, Any]:
    """Send one request to the episode and return the reply."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(os.environ["INTERLOCK_ROBO_SOCKET"])
        connection.sendall(json.dumps(request).encode() + b"\n")
        line = connection.makefile("rb").readline()
    if not line:
        raise OSError("the connection was closed")
    reply: dict[str, Any] = json.loads(line)
    return reply


def send(message: dict[str, Any]) -> None:
    """Write one message, whole."""
    with LOCK:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
