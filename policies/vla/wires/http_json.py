"""http-json: POST /reset and /act with plain JSON; pictures as base64 PNG, states as lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from interlock.policies.vla.errors import PolicyConnectionError, PolicyServerError, one_line
from interlock.policies.vla.reply import chunk, member
from interlock.policies.vla.wire import Reply, WireSettings
from interlock.policies.vla.wires.http import JsonSession


class HttpJsonWire:
    """A client of the small JSON servers that wrap LeRobot and MolmoAct policies."""

    def __init__(self, settings: WireSettings, token: str | None = None) -> None:
        self._settings = settings
        self._token = token
        self._session: JsonSession | None = None
        self._episode = ""

    async def connect(self) -> Mapping[str, Any]:
        """Check that somebody listens; the protocol has no greeting."""
        self._session = JsonSession(self._settings, self._token)
        await self._session.probe()
        return {}

    async def reset(self, episode: str) -> None:
        """Name the new episode to the server."""
        self._episode = episode
        await self._post("/reset", {"episode": episode})

    async def infer(self, observation: Mapping[str, Any]) -> Reply:
        """Send the observation with the episode's name; read ``actions``."""
        answer = await self._post(
            self._settings.path or "/act", {"episode": self._episode, **observation}
        )
        if isinstance(answer, Mapping) and "error" in answer and "actions" not in answer:
            raise PolicyServerError(
                f"the policy server {self._settings.url} reports "
                f"{one_line(str(answer['error']))!r}; keys sent: {', '.join(sorted(observation))}",
                detail=str(answer["error"]),
            )
        key = self._settings.actions_key
        actions = chunk(member(answer, key), field=key)
        latency = answer.get("latency_s")
        known = isinstance(latency, int | float) and not isinstance(latency, bool)
        return Reply(actions=actions, timing_ms={"latency_ms": 1e3 * latency} if known else {})

    async def close(self) -> None:
        """Close the connection."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        if self._session is None:
            raise PolicyConnectionError(f"not connected to {self._settings.url}")
        return await self._session.post(path, dict(body))
