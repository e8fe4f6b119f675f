"""OpenVLA: one HTTP POST per action, JSON with json-numpy arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from interlock.policies.vla.codec import unpack_json
from interlock.policies.vla.errors import PolicyConnectionError, PolicyServerError, one_line
from interlock.policies.vla.reply import chunk, member
from interlock.policies.vla.wire import Reply, WireSettings
from interlock.policies.vla.wires.http import JsonSession


class OpenvlaWire:
    """A client of OpenVLA's ``deploy.py``; an answer of one action is a chunk of one."""

    def __init__(self, settings: WireSettings, token: str | None = None) -> None:
        self._settings = settings
        self._token = token
        self._path = settings.path or "/act"
        self._session: JsonSession | None = None

    async def connect(self) -> Mapping[str, Any]:
        """Check that somebody listens; the protocol has no greeting."""
        self._session = JsonSession(self._settings, self._token)
        await self._session.probe()
        return {}

    async def reset(self, episode: str) -> None:
        """Do nothing: every request stands alone."""

    async def infer(self, observation: Mapping[str, Any]) -> Reply:
        """Send the observation; read an array, alone or under a key, possibly JSON in a string."""
        if self._session is None:
            raise PolicyConnectionError(f"not connected to {self._settings.url}")
        answer = await self._session.post(self._path, dict(observation))
        if isinstance(answer, str):
            answer = self._inner(answer, observation)
        key = self._settings.actions_key
        if isinstance(answer, Mapping):
            answer = member(answer, "action" if "action" in answer else key)
        return Reply(actions=chunk(answer, field=key, single=True))

    async def close(self) -> None:
        """Close the connection."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _inner(self, text: str, observation: Mapping[str, Any]) -> Any:
        """Read JSON inside a JSON string; any other text is how this server reports an error."""
        if text.lstrip()[:1] in ("{", "["):
            return unpack_json(text.encode())
        raise PolicyServerError(
            f"the policy server {self._settings.url} reports {one_line(text)!r}; "
            f"keys sent: {', '.join(sorted(observation))}",
            detail=text,
        )
