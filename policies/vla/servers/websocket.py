"""Test servers for the WebSocket wires: openpi and XPolicyLab.

Like the real ones they think inside the event loop, so while one request is slow nothing else is
answered, not even a ping.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from typing import TYPE_CHECKING, Any

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from interlock.policies.vla.codec import Limits, pack, unpack
from interlock.policies.vla.errors import ReplyError
from interlock.policies.vla.servers.faults import TRACEBACK

if TYPE_CHECKING:
    from interlock.policies.vla.servers.stand import Stand

_GARBAGE = b"\xc1 this is no message"


class WebSocketServer:
    """Runs one of the two protocols on an event loop in a thread of its own."""

    def __init__(self, stand: Stand, *, host: str, port: int) -> None:
        self._stand = stand
        self._limits = Limits(frame_bytes=stand.max_frame_bytes)
        self._address = (host, port)
        self._loop = asyncio.new_event_loop()
        self._server: Server | None = None
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def start(self) -> str:
        """Start listening; return the URL."""
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(10)
        host, port = next(iter(self._server.sockets)).getsockname()[:2]
        return f"ws://{host}:{port}"

    def stop(self) -> None:
        """Close every connection and end the thread."""
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _listen(self) -> Server:
        protocol = self._openpi if self._stand.kind == "openpi" else self._xpolicylab

        async def handle(connection: ServerConnection) -> None:
            # A client that goes away in the middle is part of the tests.
            with contextlib.suppress(ConnectionClosed):
                await protocol(connection)

        return await serve(
            handle,
            *self._address,
            compression=None,
            max_size=self._stand.max_frame_bytes,
            ping_interval=None,
            close_timeout=0.2,
        )

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _openpi(self, connection: ServerConnection) -> None:
        if not self._stand.accepts(connection.request.headers if connection.request else {}):
            await connection.close(1008, "no token")
            return
        await connection.send(pack(self._stand.metadata))
        async for frame in connection:
            number = self._stand.next_request()
            time.sleep(self._stand.faults.delay_s(number))
            if await self._misbehaves(connection, number):
                return
            observation = self._read(frame)
            actions = self._stand.actions(observation, number, json=False)
            await connection.send(pack({"actions": actions, "server_timing": {"infer_ms": 0.1}}))

    async def _xpolicylab(self, connection: ServerConnection) -> None:
        answers = {"hello": "hello_ack", "reset": "reset_result", "trial_end": "trial_end_ack"}
        async for frame in connection:
            message = self._read(frame)
            kind = message["message_type"]
            if kind in answers:
                await self._reply(connection, message, answers[kind], {})
                continue
            number = self._stand.next_request()
            time.sleep(self._stand.faults.delay_s(number))
            if self._stand.faults.befalls("error", number):
                error = {"code": "policy_error", "message": TRACEBACK}
                await self._reply(connection, message, "error", error)
                continue
            if await self._misbehaves(connection, number):
                return
            observation = message["payload"]["observation"]
            payload = {
                "actions": self._stand.rows(observation, number),
                "latency_ms": 0.1,
            }
            await self._reply(connection, message, "infer_result", payload)

    async def _reply(
        self, connection: ServerConnection, message: dict[str, Any], kind: str, payload: Any
    ) -> None:
        # A stranger's answer first: the client must match ids.
        stranger = {**message, "message_id": "someone-else", "message_type": kind, "payload": {}}
        await connection.send(pack(stranger, "msgpack-numpy"))
        answer = {**message, "message_type": kind, "payload": payload}
        await connection.send(pack(answer, "msgpack-numpy"))

    async def _misbehaves(self, connection: ServerConnection, number: int) -> bool:
        faults = self._stand.faults
        if faults.befalls("error", number):
            await connection.send(TRACEBACK)
            await connection.close(1011, "Internal server error")
            return True
        if faults.befalls("closes", number):
            await connection.close(1011, "gone")
            return True
        if faults.befalls("garbage", number):
            await connection.send(_GARBAGE)
            return True
        if faults.huge_bytes:
            await connection.send(b"\0" * faults.huge_bytes)
            return True
        return False

    def _read(self, frame: bytes | str) -> dict[str, Any]:
        if isinstance(frame, str):
            raise ReplyError("a text frame came from the client")
        value: dict[str, Any] = unpack(frame, self._limits, what="request")
        return value
