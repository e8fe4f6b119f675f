"""What the WebSocket wires share: opening, sending and receiving within stated limits.

There is no keepalive by ping: a server that compiles for two minutes inside its event loop can't
answer one, and the healthy connection would be closed. Liveness is the budget on every receive,
and TCP keepalive notices a host that is gone.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Literal

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI

from interlock.policies.vla.errors import (
    PolicyConnectionError,
    PolicyError,
    PolicyServerError,
    ReplyError,
    one_line,
)

if TYPE_CHECKING:
    from interlock.policies.vla.wire import WireSettings


async def open_socket(settings: WireSettings, token: str | None) -> ClientConnection:
    """Make one attempt to open a WebSocket.

    Raises:
        PolicyConnectionError: Nobody answered at the address.
        PolicyServerError: Somebody answered, but not with a WebSocket, or refused the token.
    """
    proxy: Literal[True] | str | None = None
    if settings.proxy != "none":
        proxy = True if settings.proxy == "environment" else settings.proxy
    try:
        connection = await connect(
            settings.url,
            additional_headers=settings.headers(token),
            compression="deflate" if settings.compression == "deflate" else None,
            max_size=settings.max_frame_bytes,
            ping_interval=None,
            open_timeout=None,
            close_timeout=0.5 * settings.close_budget_s,
            proxy=proxy,
        )
    except InvalidStatus as error:
        raise PolicyServerError(
            f"{settings.url} refused the connection with HTTP {error.response.status_code}; "
            "check the URL and INTERLOCK_VLA_TOKEN"
        ) from error
    except InvalidURI as error:
        raise PolicyServerError(f"{settings.url!r} is not a ws:// or wss:// address") from error
    except (OSError, InvalidHandshake, EOFError) as error:
        raise PolicyConnectionError(f"can't connect to {settings.url}: {_reason(error)}") from error
    raw = connection.transport.get_extra_info("socket")
    if raw is not None:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return connection


async def exchange(
    connection: ClientConnection, frame: bytes | memoryview, settings: WireSettings
) -> bytes | str:
    """Send one binary frame and return the next one the server sends."""
    await send(connection, frame, settings)
    return await receive(connection, settings)


async def send(
    connection: ClientConnection, frame: bytes | memoryview, settings: WireSettings
) -> None:
    """Send one binary frame.

    Raises:
        ReplyError: It is larger than the limit.
        PolicyConnectionError: The connection is gone.
    """
    if len(frame) > settings.max_frame_bytes:
        raise ReplyError(
            f"the observation is {len(frame)} bytes, limit {settings.max_frame_bytes}; "
            "resize the pictures in the preset, or raise wire.max_frame_bytes"
        )
    try:
        await connection.send(frame)
    except ConnectionClosed as error:
        raise _lost(error, settings) from error


async def receive(connection: ClientConnection, settings: WireSettings) -> bytes | str:
    """Return the next frame: bytes, or the text of an error.

    Raises:
        PolicyConnectionError: The connection is gone, or the frame was over the limit.
        PolicyServerError: The server refused us.
    """
    try:
        return await connection.recv()
    except ConnectionClosed as error:
        raise _lost(error, settings) from error


def _lost(error: ConnectionClosed, settings: WireSettings) -> PolicyError:
    sent, received = error.sent, error.rcvd
    if received is not None and received.code == 1008:
        return PolicyServerError(
            f"{settings.url} refused us (close code 1008, {one_line(received.reason)!r}); "
            "check INTERLOCK_VLA_TOKEN"
        )
    if sent is not None and sent.code == 1009:
        return PolicyConnectionError(
            f"{settings.url} sent a message over wire.max_frame_bytes "
            f"({settings.max_frame_bytes}); raise it if the server is right"
        )
    if received is not None and received.code == 1009:
        return PolicyConnectionError(
            f"{settings.url} found our message too large for it (close code 1009); "
            "raise the server's limit or resize the pictures in the preset"
        )
    code = "no close code" if received is None else f"close code {received.code}"
    return PolicyConnectionError(f"{settings.url} closed the connection ({code})")


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
