"""The agent's end of openpi/0: claim, then one observation for every action.

Drives our bridge and HUD's environments alike. Every wait is bounded; a robot whose process dies
raises at once, one that stands still raises at the limit.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from websockets.asyncio.client import connect as websocket_connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI

from interlock.messages.arrays_msgpack import FrameError, pack, unpack
from interlock.policies.robot.errors import (
    RobotLinkError,
    RobotLostError,
    RobotTimeoutError,
    refusal,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Self

    from numpy.typing import NDArray
    from websockets.asyncio.client import ClientConnection

_SIBLINGS = ("terminated", "reward", "meta")
_CLOSE_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSettings:
    """Limits of one connection to a robot.

    Attributes:
        dial_timeout_s: From the call to the metadata of the robot.
        observation_timeout_s: From an action (or the claim) to its observation.
        ping_interval_s: How often to ask whether the robot's process is alive.
        ping_timeout_s: Longest silence after that; servers answer pings beside the simulation.
        max_frame_bytes: Largest observation.
    """

    dial_timeout_s: float = 30.0
    observation_timeout_s: float = 120.0
    ping_interval_s: float = 5.0
    ping_timeout_s: float = 60.0
    max_frame_bytes: int = 64 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What the robot showed.

    Attributes:
        data: Features by their key on the wire; arrays are read-only.
        terminated: Whether the episode ended.
        reward: Reward of the last step, or None.
        meta: Sequence number, observation time and verdict, where the robot sends them.
        received_ns: When it arrived, on this machine's monotonic clock.
    """

    data: Mapping[str, Any]
    terminated: bool = False
    reward: float | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    received_ns: int = 0


class RobotClient:
    """A claimed connection; make it with `connect`."""

    def __init__(self, socket: ClientConnection, settings: LinkSettings) -> None:
        self._socket = socket
        self._settings = settings
        self.metadata: Mapping[str, Any] = {}

    @classmethod
    async def connect(
        cls,
        url: str,
        *,
        token: str | None = None,
        access_token: str | None = None,
        settings: LinkSettings | None = None,
    ) -> RobotClient:
        """Dial a robot and claim an episode.

        Args:
            url: ``ws://host:port``.
            token: Token from the reset; None claims the only episode there is.
            access_token: Secret of the bridge, if it asks for one.
            settings: Limits.

        Raises:
            RobotLinkError: Not reachable, too slow, or refused.
        """
        settings = settings or LinkSettings()
        headers = {"Authorization": f"Bearer {access_token}"} if access_token else {}
        try:
            socket = await websocket_connect(
                url,
                compression=None,
                max_size=settings.max_frame_bytes,
                open_timeout=settings.dial_timeout_s,
                ping_interval=settings.ping_interval_s,
                ping_timeout=settings.ping_timeout_s,
                close_timeout=_CLOSE_S,
                additional_headers=headers,
            )
        except (OSError, TimeoutError, InvalidHandshake, InvalidURI) as error:
            raise RobotLinkError(f"cannot reach the robot at {url}: {error}") from error
        return await cls(socket, settings)._claimed(token)

    async def _claimed(self, token: str | None) -> RobotClient:
        try:
            await self._claim(token)
        except BaseException:
            await self.close()
            raise
        return self

    async def _claim(self, token: str | None) -> None:
        first = await self._receive("the connection", self._settings.dial_timeout_s)
        self.metadata = first
        if token is not None or first.get("claim_required"):
            await self._send({"claim": token})

    async def get_observation(self) -> Observation:
        """Return the observation that the last action, or the claim, brings.

        Raises:
            RobotRefusedError: The robot said what is wrong.
            RobotLostError: The connection ended.
            RobotTimeoutError: No observation came in time.
        """
        frame = await self._receive("the action", self._settings.observation_timeout_s)
        reward = frame.get("reward")
        return Observation(
            data={key: value for key, value in frame.items() if key not in _SIBLINGS},
            terminated=bool(frame.get("terminated", False)),
            reward=None if reward is None else float(reward),
            meta=frame.get("meta") or {},
            received_ns=time.monotonic_ns(),
        )

    async def send_action(self, action: NDArray[Any]) -> None:
        """Send one action, shape (width,)."""
        await self._send({"actions": np.asarray(action, np.float32)})

    async def step(self, action: NDArray[Any]) -> Observation:
        """Send one action and return the observation it brings."""
        await self.send_action(action)
        return await self.get_observation()

    async def close(self) -> None:
        """Close the connection; the episode keeps its slot until it is graded."""
        await self._socket.close()

    async def __aenter__(self) -> Self:
        """Return the client."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        await self.close()

    async def _send(self, message: Mapping[str, Any]) -> None:
        try:
            await self._socket.send(pack(message))
        except ConnectionClosed as error:
            raise await self._lost(error) from error

    async def _receive(self, doing: str, limit_s: float) -> dict[Any, Any]:
        try:
            async with asyncio.timeout(limit_s):
                raw = await self._socket.recv()
        except TimeoutError as error:
            # A late answer must not be taken for the next one.
            await self.close()
            raise RobotTimeoutError(
                f"the robot did not answer {doing} within {limit_s:g} s; the connection is closed"
            ) from error
        except ConnectionClosed as error:
            raise RobotLostError(_why(error)) from error
        if isinstance(raw, str):
            raise refusal(raw, doing=doing)
        try:
            frame = unpack(raw, max_bytes=self._settings.max_frame_bytes)
        except FrameError as error:
            raise RobotLinkError(f"the robot sent a frame that can't be read: {error}") from error
        if not isinstance(frame, dict):
            raise RobotLinkError(f"the robot sent a {type(frame).__name__}, expected a map")
        return frame

    async def _lost(self, error: ConnectionClosed) -> RobotLinkError:
        """Return the fault the robot sent before it closed, if it is still to be read."""
        try:
            while True:
                raw = await self._socket.recv()
                if isinstance(raw, str):
                    return refusal(raw, doing="the action")
        except ConnectionClosed:
            return RobotLostError(_why(error))


def _why(error: ConnectionClosed) -> str:
    close = error.rcvd
    if close is None:
        return "the connection to the robot broke; its process ended or its host is unreachable"
    return f"the robot closed the connection ({close.code} {close.reason or 'no reason'})"
