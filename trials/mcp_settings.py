"""How an agent's MCP client starts the ``robo`` server inside the workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlock.trials.interpreter import python_program

if TYPE_CHECKING:
    from interlock.trials.harness import Room


def server_command(room: Room) -> dict[str, Any]:
    """Return command, arguments and environment of the stdio server."""
    return {
        "command": python_program(),
        "args": ["-IS", str(room.bin / "robo_mcp.py")],
        "env": {"INTERLOCK_ROBO_SOCKET": str(room.socket)},
    }
