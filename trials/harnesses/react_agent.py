"""The loop of the react harness. Free-standing: a copy runs inside the sandbox.

Reads ``settings.json``, talks to the gateway, calls the episode, prints one JSON event a line.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import urllib.error
import urllib.request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_TURNS = 200
CALL_S = 600.0


def main() -> None:
    """Talk and act until the episode is over or the model stops calling tools."""
    with open("settings.json", encoding="utf-8") as file:
        settings = json.load(file)
    messages: list[dict[str, Any]] = [{"role": "user", "content": settings["prompt"]}]
    silent = 0
    for _ in range(MAX_TURNS):
        message = think(settings, messages)
        messages.append(message)
        calls = message.get("tool_calls") or []
        silent = 0 if calls else silent + 1
        if silent == 2:
            return
        if not calls:
            messages.append({"role": "user", "content": "Go on by calling a tool, or call done."})
        for call in calls:
            answers, over = act(call)
            messages += answers
            if over:
                return


def think(settings: dict[str, Any], messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Ask the model for its next message."""
    tools = [{"type": "function", "function": as_function(tool)} for tool in settings["tools"]]
    body = {"model": settings["model"], "messages": messages, "tools": tools}
    request = urllib.request.Request(
        settings["url"],
        json.dumps(body).encode(),
        {
            "Content-Type": "application/json",
            "Authorization": "Bearer " + os.environ["INTERLOCK_GATEWAY_KEY"],
        },
    )
    try:
        with urllib.request.urlopen(request, timeout=CALL_S) as response:
            reply = json.load(response)
        message: dict[str, Any] = reply["choices"][0]["message"]
    except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
        detail = error.read()[:300] if isinstance(error, urllib.error.HTTPError) else b""
        say("error", text=f"the model did not answer: {error} {detail.decode(errors='replace')}")
        sys.exit(1)
    say("agent", text=message.get("content") or "", usage=reply.get("usage"))
    return message


def as_function(tool: dict[str, Any]) -> dict[str, Any]:
    """Return a verb in the shape of chat completions."""
    return {
        "name": tool["name"],
        "description": tool["description"],
        "parameters": tool["input_schema"],
    }


def act(call: dict[str, Any]) -> tuple[list[dict[str, Any]], bool]:
    """Carry out one tool call; return the messages it answers with, and whether it is over."""
    function = call.get("function") or {}
    name = function.get("name")
    try:
        values = json.loads(function.get("arguments") or "{}")
        say("agent", tool=name, arguments=values)
        reply = ask({"verb": name, **values})
    except (ValueError, TypeError) as error:
        reply = {"ok": False, "error": f"the arguments are not a JSON object: {error}"}
    images = reply.get("result", {}).pop("images", [])
    text = json.dumps(reply)
    say("tool", text=text)
    answers = [{"role": "tool", "tool_call_id": call.get("id"), "content": text}]
    if images:
        parts = [
            {"type": "image_url", "image_url": {"url": "data:image/png;base64," + i["png_base64"]}}
            for i in images
        ]
        answers.append({"role": "user", "content": parts})
    return answers, "episode" in (reply.get("budget") or {})


def ask(request: dict[str, Any]) -> dict[str, Any]:
    """Send one request to the episode and return the reply."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(os.environ["INTERLOCK_ROBO_SOCKET"])
        connection.sendall(json.dumps(request).encode() + b"\n")
        reply: dict[str, Any] = json.loads(connection.makefile("rb").readline())
    return reply


def say(event: str, **values: object) -> None:
    """Print one event."""
    sys.stdout.write(json.dumps({"event": event, **values}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
