"""What the HTTP wires share: one client, no inherited proxies, answers read up to a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlock.policies.vla.codec import Limits, pack_json, unpack_json
from interlock.policies.vla.errors import (
    PolicyConnectionError,
    PolicyServerError,
    ReplyError,
    one_line,
)

if TYPE_CHECKING:
    import httpx

    from interlock.policies.vla.wire import WireSettings


class JsonSession:
    """POSTs JSON to one server. Timeouts are the caller's: cancelling drops the connection."""

    def __init__(self, settings: WireSettings, token: str | None) -> None:
        import httpx

        if not settings.url.startswith(("http://", "https://")):
            raise PolicyServerError(f"{settings.url!r} is not an http:// or https:// address")
        self._settings = settings
        self._limits = Limits(frame_bytes=settings.max_frame_bytes)
        proxy = settings.proxy if settings.proxy not in ("none", "environment") else None
        self._client = httpx.AsyncClient(
            headers={
                **settings.headers(token),
                "Content-Type": "application/json",
                "Accept-Encoding": "gzip" if settings.compression == "deflate" else "identity",
            },
            timeout=None,
            trust_env=settings.proxy == "environment",
            proxy=proxy,
            follow_redirects=False,
        )

    async def probe(self) -> None:
        """Find out whether anybody listens; what is answered does not matter.

        Raises:
            PolicyConnectionError: Nobody does.
        """
        await self._fetch("GET", "/health", b"")

    async def post(self, path: str, body: Any) -> Any:
        """Send JSON and return the JSON that answers it.

        Raises:
            PolicyServerError: Any status but 2xx; it quotes the last line of the body.
            ReplyError: Too large, or not JSON.
        """
        data = pack_json(body)
        if len(data) > self._settings.max_frame_bytes:
            raise ReplyError(
                f"the observation is {len(data)} bytes, limit {self._settings.max_frame_bytes}; "
                "resize the pictures in the preset, or raise wire.max_frame_bytes"
            )
        status, answer = await self._fetch("POST", path, data)
        if not 200 <= status < 300:
            text = answer.decode("utf-8", "replace")
            keys = ", ".join(sorted(body)) if isinstance(body, dict) else "none"
            raise PolicyServerError(
                f"the policy server {self._settings.url}{path} answers HTTP {status} "
                f"{one_line(text)!r}; keys sent: {keys}",
                detail=text,
            )
        return unpack_json(answer, self._limits)

    async def close(self) -> None:
        """Close every connection."""
        await self._client.aclose()

    async def _fetch(self, method: str, path: str, data: bytes) -> tuple[int, bytes]:
        import httpx

        url = self._settings.url.rstrip("/") + path
        try:
            async with self._client.stream(method, url, content=data) as response:
                return response.status_code, await self._body(response)
        except httpx.ConnectError as error:
            raise PolicyConnectionError(f"can't connect to {url}: {error}") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            reason = str(error) or type(error).__name__
            raise PolicyConnectionError(f"lost the connection to {url}: {reason}") from error

    async def _body(self, response: httpx.Response) -> bytes:
        body = bytearray()
        async for part in response.aiter_bytes():
            body += part
            if len(body) > self._settings.max_frame_bytes:
                raise ReplyError(
                    f"reply: over {self._settings.max_frame_bytes} bytes; "
                    "raise wire.max_frame_bytes if the server is right"
                )
        return bytes(body)
