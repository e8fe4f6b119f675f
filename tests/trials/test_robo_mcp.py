"""The MCP server of an episode as a client sees it: a real process over stdio."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from trial_worlds import Served, make_task

from interlock.trials import robo_mcp

Serve = Callable[..., Served]


class Client:
    """Speaks JSON-RPC with the server."""

    def __init__(self, socket: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-IS", robo_mcp.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={"PATH": os.environ["PATH"], "INTERLOCK_ROBO_SOCKET": str(socket)},
        )
        self._count = 0

    def send(self, method: str, **parameters: Any) -> int:
        self._count += 1
        message = {"jsonrpc": "2.0", "id": self._count, "method": method, "params": parameters}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
        return self._count

    def receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = self.send(method, **parameters)
        reply = self.receive()
        assert reply["id"] == number
        return reply

    def call(self, verb: str, /, **arguments: Any) -> dict[str, Any]:
        return self.ask("tools/call", name=verb, arguments=arguments)["result"]

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(10) == 0


@pytest.fixture
def connect() -> Iterator[Callable[[Served], Client]]:
    clients: list[Client] = []

    def start(served: Served) -> Client:
        clients.append(Client(served.socket))
        return clients[-1]

    yield start
    for client in clients:
        client.close()


def test_the_tools_are_the_verbs(serve: Serve, connect: Callable[[Served], Client]) -> None:
    client = connect(serve())
    hello = client.ask("initialize", protocolVersion="2025-06-18")["result"]
    assert hello["protocolVersion"] == "2025-06-18"
    tools = {tool["name"]: tool for tool in client.ask("tools/list")["result"]["tools"]}
    assert {"act", "move_to", "observe", "done", "give_up"} <= set(tools)
    assert tools["grip"]["inputSchema"]["required"] == ["opening"]


def test_a_call_moves_and_a_picture_is_an_image(
    serve: Serve, connect: Callable[[Served], Client]
) -> None:
    client = connect(serve())
    moved = client.call("skill", name="pick", arguments=["cube"])
    assert not moved["isError"]
    assert '"holding": "cube"' in moved["content"][0]["text"]
    seen = client.call("observe", camera="top")
    assert [part["type"] for part in seen["content"]] == ["text", "image"]


def test_a_refusal_is_an_error_with_its_way_out(
    serve: Serve, connect: Callable[[Served], Client]
) -> None:
    client = connect(serve())
    refused = client.call("move_to", position=[9.0, 0.0, 0.0])
    assert refused["isError"]
    assert "Stay within" in refused["content"][0]["text"]
    wrong = client.call("frobnicate")
    assert "no verb" in wrong["content"][0]["text"]
    assert client.ask("nosuch/method")["error"]["code"] == -32601


def test_a_ping_is_answered_while_a_motion_runs(
    serve: Serve, connect: Callable[[Served], Client]
) -> None:
    client = connect(serve(make_task(max_steps="100000"), slow=True))
    motion = client.send("tools/call", name="wait", arguments={"steps": 400})
    ping = client.send("ping")
    assert [client.receive()["id"] for _ in range(2)] == [ping, motion]
