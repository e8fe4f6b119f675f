"""openpi: WebSocket, msgpack; the server greets with its metadata, then answers maps with maps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from interlock.policies.vla.codec import FramePacker, Limits, unpack
from interlock.policies.vla.errors import PolicyConnectionError, PolicyServerError, one_line
from interlock.policies.vla.reply import chunk, member, timings
from interlock.policies.vla.wire import Reply, WireSettings
from interlock.policies.vla.wires.websocket import exchange, open_socket, receive

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection


class OpenpiWire:
    """A client of openpi's ``serve_policy`` and of anything that speaks like it."""

    def __init__(self, settings: WireSettings, token: str | None = None) -> None:
        self._settings = settings
        self._token = token
        self._limits = Limits(frame_bytes=settings.max_frame_bytes)
        self._packer = FramePacker()
        self._connection: ClientConnection | None = None

    async def connect(self) -> Mapping[str, Any]:
        """Open the socket and read the greeting."""
        self._connection = await open_socket(self._settings, self._token)
        greeting = await receive(self._connection, self._settings)
        if isinstance(greeting, str):
            raise self._reported(greeting, "while connecting")
        metadata = unpack(greeting, self._limits, what="metadata")
        return metadata if isinstance(metadata, Mapping) else {}

    async def reset(self, episode: str) -> None:
        """Do nothing: the protocol has no word for it, every request stands alone."""

    async def infer(self, observation: Mapping[str, Any]) -> Reply:
        """Send the observation as one map and read one map."""
        if self._connection is None:
            raise PolicyConnectionError(f"not connected to {self._settings.url}")
        frame = await exchange(self._connection, self._packer.pack(observation), self._settings)
        if isinstance(frame, str):
            raise self._reported(frame, f"keys sent: {', '.join(sorted(observation))}")
        reply = unpack(frame, self._limits)
        key = self._settings.actions_key
        return Reply(
            actions=chunk(member(reply, key), field=key),
            timing_ms=timings(reply, "server_timing", "policy_timing"),
        )

    async def close(self) -> None:
        """Close the socket."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    def _reported(self, text: str, context: str) -> PolicyServerError:
        return PolicyServerError(
            f"the policy server {self._settings.url} reports {one_line(text)!r}; {context}",
            detail=text,
        )
