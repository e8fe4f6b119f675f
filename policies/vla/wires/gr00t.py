"""GR00T: ZeroMQ request and reply, msgpack; one map of parts with a batch of one comes back.

Released servers write arrays as .npy files inside msgpack, newer ones as msgpack-numpy:
``wire.options.arrays`` is ``npy`` (default) or ``msgpack-numpy``; both are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from interlock.policies.vla.codec import Convention, Limits, pack, unpack
from interlock.policies.vla.errors import (
    PolicyConnectionError,
    PolicyServerError,
    ReplyError,
    one_line,
)
from interlock.policies.vla.reply import member, side_by_side, without_batch
from interlock.policies.vla.wire import Reply, WireSettings

if TYPE_CHECKING:
    import zmq.asyncio

_CONVENTIONS: dict[str, Convention] = {"npy": "npy", "msgpack-numpy": "msgpack-numpy"}


class Gr00tWire:
    """A client of GR00T's ``PolicyServer``.

    ZeroMQ connects when it likes, so the first sign of life is the answer to ``ping``.
    """

    def __init__(self, settings: WireSettings, token: str | None = None) -> None:
        self._settings = settings
        self._token = token
        self._limits = Limits(frame_bytes=settings.max_frame_bytes)
        name = settings.options.get("arrays", "npy")
        if name not in _CONVENTIONS:
            raise PolicyServerError(f"wire.options.arrays is {name!r}; npy or msgpack-numpy")
        self._convention = _CONVENTIONS[name]
        self._context: zmq.asyncio.Context | None = None
        self._socket: zmq.asyncio.Socket | None = None

    async def connect(self) -> Mapping[str, Any]:
        """Open the socket and ping; the answer is awaited as long as the connect budget lasts."""
        import zmq.asyncio
        from zmq.constants import SocketOption, SocketType
        from zmq.error import ZMQError

        self._context = zmq.asyncio.Context()
        self._socket = self._context.socket(SocketType.REQ)
        self._socket.setsockopt(SocketOption.LINGER, 0)
        self._socket.setsockopt(SocketOption.MAXMSGSIZE, self._settings.max_frame_bytes)
        try:
            self._socket.connect(self._address())
        except ZMQError as error:
            raise PolicyServerError(f"{self._settings.url!r}: {error}") from error
        answer = await self._ask("ping", None)
        return answer if isinstance(answer, Mapping) else {}

    async def reset(self, episode: str) -> None:
        """Tell the server; one that does not know the word says so and is not asked to."""
        try:
            await self._ask("reset", {"options": None})
        except PolicyServerError as error:
            if "endpoint" not in str(error).lower():
                raise

    async def infer(self, observation: Mapping[str, Any]) -> Reply:
        """Send the observation; read a map of parts, alone or in a list with an info map."""
        answer = await self._ask("get_action", {"observation": observation, "options": None})
        parts = answer[0] if isinstance(answer, list) and answer else answer
        keys = self._settings.action_keys
        if not keys:
            key = self._settings.actions_key
            return Reply(actions=without_batch(member(parts, key), field=key))
        if not isinstance(parts, Mapping):
            raise ReplyError(f"expected a map of action parts, got {type(parts).__name__}")
        return Reply(actions=side_by_side(parts, keys, batched=True))

    async def close(self) -> None:
        """Close the socket and drop what was not sent."""
        socket, self._socket = self._socket, None
        context, self._context = self._context, None
        if socket is not None:
            socket.close(linger=0)
        if context is not None:
            context.term()

    def _address(self) -> str:
        url = self._settings.url.removeprefix("zmq://")
        url = url if "://" in url else f"tcp://{url}"
        return url if url.rsplit(":", 1)[-1].isdigit() else f"{url}:5555"

    async def _ask(self, endpoint: str, data: Mapping[str, Any] | None) -> Any:
        if self._socket is None:
            raise PolicyConnectionError(f"not connected to {self._settings.url}")
        request: dict[str, Any] = {"endpoint": endpoint}
        if data is not None:
            request["data"] = data
        if self._token:
            request["api_token"] = self._token
        frame = pack(request, self._convention)
        if len(frame) > self._settings.max_frame_bytes:
            raise ReplyError(
                f"the observation is {len(frame)} bytes, limit {self._settings.max_frame_bytes}; "
                "resize the pictures in the preset, or raise wire.max_frame_bytes"
            )
        await self._socket.send(frame)
        return self._checked(await self._socket.recv(), data)

    def _checked(self, frame: bytes, data: Mapping[str, Any] | None) -> Any:
        sent = ", ".join(sorted((data or {}).get("observation", {}))) or "none"
        if frame == b"ERROR":
            raise PolicyServerError(f"the policy server {self._settings.url} reports an error")
        answer = unpack(frame, self._limits)
        if isinstance(answer, Mapping) and "error" in answer:
            text = str(answer["error"])
            hint = "; try the other wire.options.arrays" if "'dict'" in text else ""
            raise PolicyServerError(
                f"the policy server {self._settings.url} reports {one_line(text)!r}; "
                f"keys sent: {sent}{hint}",
                detail=text,
            )
        return answer
