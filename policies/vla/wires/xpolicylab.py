"""XPolicyLab: WebSocket, msgpack-numpy; every message has an envelope, replies echo its id.

Older servers call the id ``message_id``, newer ones ``request_id``: ``wire.options.id_field``.
"""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.policies.vla.codec import Limits, pack, unpack
from interlock.policies.vla.errors import (
    PolicyConnectionError,
    PolicyServerError,
    ReplyError,
    one_line,
)
from interlock.policies.vla.reply import chunk, member, side_by_side
from interlock.policies.vla.wire import Reply, WireSettings
from interlock.policies.vla.wires.websocket import open_socket, receive, send

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

#: Messages with another id that are passed over while waiting for ours.
_MOST_STRANGERS = 100


class XPolicyLabWire:
    """A client that opens with ``hello``, opens and ends trials, and matches replies by id."""

    def __init__(self, settings: WireSettings, token: str | None = None) -> None:
        self._settings = settings
        self._token = token
        self._limits = Limits(frame_bytes=settings.max_frame_bytes)
        self._connection: ClientConnection | None = None
        self._evaluation = f"interlock-{uuid.uuid4().hex[:8]}"
        self._trial: str | None = None
        self._step = 0
        self._id_field = str(settings.options.get("id_field", "message_id"))

    async def connect(self) -> Mapping[str, Any]:
        """Open the socket and say hello."""
        self._connection = await open_socket(self._settings, self._token)
        self._trial, self._step = None, 0
        return await self._ask("hello", {}, "hello_ack")

    async def reset(self, episode: str) -> None:
        """End the trial before, if there was one, and begin a new one."""
        if self._trial is not None:
            await self._ask("trial_end", {"trial_id": self._trial}, "trial_end_ack")
        self._trial, self._step = episode, 0
        await self._ask("reset", {"trial_id": episode}, "reset_result")

    async def infer(self, observation: Mapping[str, Any]) -> Reply:
        """Send the observation and read a list of rows, one map of parts each."""
        payload = await self._ask("infer", {"observation": observation}, "infer_result")
        self._step += 1
        rows = member(payload, self._settings.actions_key)
        keys = self._settings.action_keys
        if keys and isinstance(rows, list):
            parts = {key: [_row(row, key) for row in rows] for key in keys}
            actions = side_by_side(parts, keys, batched=False)
        else:
            actions = chunk(rows, field=self._settings.actions_key)
        latency = payload.get("latency_ms")
        timing = {"latency_ms": float(latency)} if isinstance(latency, int | float) else {}
        return Reply(actions=actions, timing_ms=timing)

    async def close(self) -> None:
        """Close the socket; the server ends the trial with it."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def _ask(self, kind: str, payload: Mapping[str, Any], answer: str) -> Mapping[str, Any]:
        if self._connection is None:
            raise PolicyConnectionError(f"not connected to {self._settings.url}")
        message_id = uuid.uuid4().hex
        await send(
            self._connection,
            pack(self._envelope(kind, message_id, payload), "msgpack-numpy"),
            self._settings,
        )
        for _ in range(_MOST_STRANGERS):
            message = await self._message()
            if message.get(self._id_field) != message_id:
                continue
            return self._payload(message, answer, payload)
        raise ReplyError(f"{_MOST_STRANGERS} messages came with another id than {message_id}")

    async def _message(self) -> Mapping[str, Any]:
        assert self._connection is not None
        frame = await receive(self._connection, self._settings)
        if isinstance(frame, str):
            raise PolicyServerError(
                f"the policy server {self._settings.url} reports {one_line(frame)!r}", detail=frame
            )
        message = unpack(frame, self._limits)
        if not isinstance(message, Mapping):
            raise ReplyError(f"expected an envelope, got {type(message).__name__}")
        return message

    def _payload(
        self, message: Mapping[str, Any], answer: str, sent: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        kind, payload = message.get("message_type"), message.get("payload") or {}
        if not isinstance(payload, Mapping):
            raise ReplyError(f"field 'payload': expected a map, got {type(payload).__name__}")
        if kind == "error":
            said = one_line(f"{payload.get('code', 'error')}: {payload.get('message', '')}")
            keys = ", ".join(sorted(sent.get("observation", {}))) or "none"
            raise PolicyServerError(
                f"the policy server {self._settings.url} reports {said!r}; keys sent: {keys}",
                detail=str(payload),
            )
        if answer != "infer_result" and kind != answer:
            raise ReplyError(f"field 'message_type': expected {answer!r}, got {kind!r}")
        return payload

    def _envelope(self, kind: str, message_id: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "message_type": kind,
            self._id_field: message_id,
            "evaluation_id": self._evaluation,
            "action_case_id": None,
            "trial_id": self._trial,
            "repeat_index": None,
            "step": self._step,
            "sent_at": datetime.datetime.now(datetime.UTC).isoformat(),
            "payload": payload,
        }


def _row(row: Any, key: str) -> Any:
    value = member(row, key)
    scalar = isinstance(value, int | float) or np.ndim(value) == 0
    return [value] if scalar else value
