"""The control plane: reset, result and the capability manifest as newline-delimited JSON-RPC."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import logging
import math
from typing import TYPE_CHECKING, Any

from interlock.messages.errors import InterlockError
from interlock.robots.bridge.faults import BridgeError, BusyError, new_id

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from interlock.robots.bridge.engine import Engine
    from interlock.robots.bridge.settings import BridgeSettings

#: Longest request and reply, in bytes; a contract of thousands of names must fit.
MAX_LINE_BYTES = 8 * 2**20
#: Error code of a refusal that can succeed later.
BUSY = -32001
_REFUSED = -32000
_log = logging.getLogger(__name__)


class ControlPlane:
    """Answers requests of any number of connections, each request with its own id."""

    def __init__(self, engine: Engine, settings: BridgeSettings, url: str) -> None:
        self._engine = engine
        self._settings = settings
        self._url = url

    @contextlib.asynccontextmanager
    async def listen(self) -> AsyncIterator[int]:
        """Listen and give the port."""
        server = await asyncio.start_server(
            self._client, self._settings.host, self._settings.control_port, limit=MAX_LINE_BYTES
        )
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                writer.write(dump(await self._answer(line)))
                await writer.drain()
        except ValueError:
            # readline: the line is longer than the limit, so its end can't be found.
            writer.write(dump(_error(None, -32600, f"a line is over {MAX_LINE_BYTES} bytes")))
        except (OSError, asyncio.CancelledError):
            # The peer is gone, or the bridge stops: either way this connection is over.
            return
        finally:
            writer.close()

    async def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            request = json.loads(line)
        except (ValueError, RecursionError):
            return _error(None, -32700, "the request is not JSON")
        if not isinstance(request, dict) or not isinstance(request.get("method"), str):
            return _error(None, -32600, "a request needs a 'method'")
        id = request.get("id")
        if not isinstance(id, int | str | None) or isinstance(id, bool):
            return _error(None, -32600, "an 'id' must be a number or text")
        params = request.get("params", {})
        if not isinstance(params, dict):
            return _error(id, -32602, "'params' must be an object")
        if not self._may(request):
            return _error(id, _REFUSED, "this bridge needs its token in 'auth'")
        try:
            return {
                "jsonrpc": "2.0",
                "id": id,
                "result": await self._call(request["method"], params),
            }
        except BusyError as error:
            return _error(id, BUSY, str(error))
        except InterlockError as error:
            return _error(id, _REFUSED, str(error))
        except Exception as error:
            fault = new_id()
            _log.error("%s: %s failed", fault, request["method"][:40], exc_info=error)
            return _error(id, -32603, f"{fault}: the robot failed ({type(error).__name__})")

    def _may(self, request: dict[str, Any]) -> bool:
        if self._settings.token is None:
            return True
        return hmac.compare_digest(str(request.get("auth")).encode(), self._settings.token.encode())

    async def _call(self, method: str, params: dict[str, Any]) -> Any:
        if method == "reset":
            return await self._engine.reset(params)
        if method == "result":
            return await self._engine.result(params.get("token"))
        if method == "contract":
            return {"contract": self._engine.sims.contract.to_json()}
        if method == "url":
            return {"url": self._url}
        if method == "capabilities":
            return {"capabilities": [self._capability(str(params.get("name", "robot")))]}
        raise BridgeError(
            f"unknown method {method[:40]!r}; known: capabilities, contract, reset, result, url"
        )

    def _capability(self, name: str) -> dict[str, Any]:
        contract = self._engine.sims.contract.to_json()
        return {
            "name": name,
            "protocol": "openpi/0",
            "url": self._url,
            "params": {"contract": contract, "slots": self._engine.table.count},
        }


def dump(message: dict[str, Any]) -> bytes:
    """Return one line; NaN and infinity, which JSON does not have, become null."""
    try:
        return json.dumps(message, allow_nan=False, default=_plain).encode() + b"\n"
    except ValueError:
        return json.dumps(_finite(message), allow_nan=False, default=_plain).encode() + b"\n"


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _error(id: Any, code: int, message: str) -> dict[str, Any]:
    short = " ".join(message.split())[:500]
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": short}}
