"""One client of the bridge: metadata, claim, then an observation for every action."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from websockets.exceptions import ConnectionClosed

from interlock.messages.arrays_msgpack import FrameError, pack, unpack
from interlock.robots.bridge.faults import BridgeError, WireError, new_id
from interlock.robots.bridge.stepper import read_action

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection

    from interlock.robots.bridge.engine import Engine
    from interlock.robots.bridge.slots import Slot

_log = logging.getLogger(__name__)


class Session:
    """Serves one connection until it ends; a newer observation replaces one not yet sent."""

    def __init__(self, socket: ServerConnection, engine: Engine) -> None:
        self._socket = socket
        self._engine = engine
        self._width = engine.sims.contract.action.width or 1
        self._frame: bytes | None = None
        self._error: WireError | None = None
        self._wake = asyncio.Event()

    async def run(self) -> None:
        """Serve the connection; every end is told to the peer and noted in the log."""
        slot: Slot | None = None
        writer = asyncio.create_task(self._write())
        try:
            await self._socket.send(pack(self._metadata()))
            slot = await self._engine.attach(await self._claim(), self)
            async for raw in self._socket:
                self._engine.ticks.submit(slot, self._action(raw))
        except ConnectionClosed:
            pass
        except WireError as error:
            self.fail(error)
        except Exception as error:
            self.fail(_internal(error))
        finally:
            if slot is not None:
                self._engine.detach(slot, self)
            if self._error is not None:
                await writer
            writer.cancel()

    def deliver(self, frame: bytes) -> None:
        """Send an observation as soon as the socket takes it."""
        self._frame = frame
        self._wake.set()

    def fail(self, error: WireError) -> None:
        """Tell the peer what is wrong, then close."""
        self._error = self._error or error
        self._wake.set()

    def _metadata(self) -> dict[str, Any]:
        contract = self._engine.sims.contract
        return {
            "claim_required": True,
            "server": "interlock",
            "control_rate": contract.control_rate_hz,
            "pace": self._engine.settings.pace,
        }

    async def _claim(self) -> object:
        limit_s = self._engine.settings.claim_timeout_s
        try:
            raw = await asyncio.wait_for(self._socket.recv(), limit_s)
        except TimeoutError as error:
            raise WireError("claim_timeout", f"no claim came within {limit_s:g} s") from error
        first = self._map(raw)
        if "claim" not in first:
            raise WireError("bad_claim", 'the first frame must be {"claim": token or nil}')
        return first["claim"]

    def _map(self, raw: bytes | str) -> dict[Any, Any]:
        if isinstance(raw, str):
            raise WireError("bad_frame", "a text frame came; send binary msgpack")
        try:
            value = unpack(raw, max_bytes=self._engine.settings.max_frame_bytes)
        except FrameError as error:
            raise WireError("bad_frame", str(error)) from error
        if not isinstance(value, dict):
            raise WireError("bad_frame", f"a frame must be a map, got {type(value).__name__}")
        return value

    def _action(self, raw: bytes | str) -> Any:
        frame = self._map(raw)
        if "actions" not in frame:
            keys = ", ".join(str(key)[:20] for key in list(frame)[:5]) or "none"
            raise WireError("bad_action", f"the frame has no 'actions'; its keys: {keys}")
        try:
            return read_action(frame["actions"], self._width)
        except BridgeError as error:
            raise WireError("bad_action", str(error)) from error

    async def _write(self) -> None:
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                frame, self._frame = self._frame, None
                if frame is not None:
                    await self._socket.send(frame)
                if self._error is not None:
                    await self._socket.send(self._error.text())
                    await self._socket.close(self._error.close_code, self._error.code)
                    return
        except ConnectionClosed:
            return


def _internal(error: Exception) -> WireError:
    id = new_id()
    _log.error("%s: a session failed", id, exc_info=error)
    return WireError("internal", "the bridge failed; its log has the rest", id=id)
