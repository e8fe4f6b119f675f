"""The one client of every wire: budgets, warm-up apart, reconnecting, never a late answer.

Reconnect policy: a connection is dropped at the first failure of any kind (budget, error, broken
reply), so an answer that was on its way can't be taken for the next one. Before the next inference
the client connects again, unless ``wire.reconnect`` is ``never``. The first inference of each
connection has the warm-up budget, because the server may have been restarted.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from interlock.policies.vla.errors import (
    PolicyConnectionError,
    PolicyError,
    PolicyTimeoutError,
)
from interlock.policies.vla.wires import make_wire

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping

    from interlock.policies.vla.wire import Reply, Wire, WireSettings


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answer:
    """A reply with the observation it answers and what it cost.

    Attributes:
        reply: What the server sent.
        observation_id: The number given with the observation.
        roundtrip_s: From sending to the decoded reply, in s.
        preprocess_s: Building the observation, in s.
        warmup: True for the first inference of a connection; keep it out of latency statistics.
        postprocess_s: From the reply to what may be played, in s.
        chunk: What may be played, made by the asker's ``finish``; None without one.
    """

    reply: Reply
    observation_id: int
    roundtrip_s: float
    warmup: bool
    preprocess_s: float = 0.0
    postprocess_s: float = 0.0
    chunk: Any = None


@dataclass(slots=True)
class Counts:
    """What happened on this client so far."""

    inferences: int = 0
    connections: int = 0
    timeouts: int = 0
    errors: int = 0
    warmup_s: list[float] = field(default_factory=list)


class PolicyClient:
    """Asks one policy server, one question at a time."""

    def __init__(
        self, settings: WireSettings, token: str | None = None, *, wire: Wire | None = None
    ) -> None:
        self._settings = settings
        self._wire = wire if wire is not None else make_wire(settings, token)
        self._lock = asyncio.Lock()
        self._connected = False
        self._warm = False
        self._episode: str | None = None
        self.metadata: Mapping[str, Any] = {}
        self.counts = Counts()

    async def __aenter__(self) -> PolicyClient:
        """Connect."""
        await self.connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close."""
        await self.close()

    async def connect(self) -> Mapping[str, Any]:
        """Connect, trying again within the connect budget while nobody answers.

        Raises:
            PolicyTimeoutError: The budget is spent; it names the last reason.
            PolicyServerError: The server refused.
        """
        if self._connected:
            return self.metadata
        budget_s, reason = self._settings.connect_budget_s, "no answer"
        try:
            async with asyncio.timeout(budget_s):
                while True:
                    try:
                        self.metadata = await self._wire.connect()
                        break
                    except PolicyConnectionError as error:
                        reason = str(error)
                    await self._drop()
                    await asyncio.sleep(self._settings.connect_retry_s)
        except TimeoutError:
            await self._drop()
            raise PolicyTimeoutError(
                f"no policy server at {self._settings.url} within {budget_s:g} s "
                f"(wire.connect_budget_s): {reason}. Start the server, or set INTERLOCK_VLA_URL."
            ) from None
        except BaseException:
            await self._drop()
            raise
        self._connected, self._warm = True, False
        self.counts.connections += 1
        return self.metadata

    async def reset(self, episode: str) -> None:
        """Begin a new episode on the server, where the protocol can say so."""
        async with self._lock:
            await self._ensure_connected()
            self._episode = episode
            await self._bounded(self._wire.reset(episode), "reset", self._settings.step_budget_s)

    async def infer(self, observation: Mapping[str, Any], *, observation_id: int) -> Answer:
        """Ask for a chunk; concurrent callers wait their turn.

        Raises:
            PolicyError: Whatever went wrong; the connection has been dropped.
        """
        async with self._lock:
            await self._ensure_connected()
            warmup = not self._warm
            name = "warmup" if warmup else "step"
            budget_s = getattr(self._settings, f"{name}_budget_s")
            loop = asyncio.get_running_loop()
            started = loop.time()
            reply = await self._bounded(self._wire.infer(observation), name, budget_s)
            roundtrip_s = loop.time() - started
        self._warm = True
        self.counts.inferences += 1
        if warmup:
            self.counts.warmup_s.append(roundtrip_s)
        return Answer(
            reply=reply, observation_id=observation_id, roundtrip_s=roundtrip_s, warmup=warmup
        )

    async def close(self) -> None:
        """Let go of the connection; it never raises and never takes longer than its budget."""
        await self._drop()

    async def _ensure_connected(self) -> None:
        if self._connected:
            return
        if self.counts.connections and self._settings.reconnect == "never":
            raise PolicyConnectionError(
                f"the connection to {self._settings.url} was lost and wire.reconnect is never"
            )
        await self.connect()
        if self._episode is not None:
            await self._bounded(
                self._wire.reset(self._episode), "reset", self._settings.step_budget_s
            )

    async def _bounded(self, call: Coroutine[Any, Any, Any], name: str, budget_s: float) -> Any:
        try:
            async with asyncio.timeout(budget_s):
                return await call
        except TimeoutError:
            self.counts.timeouts += 1
            await self._drop()
            key = "step_budget_s" if name == "reset" else f"{name}_budget_s"
            raise PolicyTimeoutError(
                f"{self._settings.url} did not answer within {budget_s:g} s (wire.{key}); the "
                "connection was dropped, so a late answer is never used"
            ) from None
        except BaseException as error:
            self.counts.errors += isinstance(error, PolicyError)
            await self._drop()
            raise

    async def _drop(self) -> None:
        self._connected = False
        try:
            async with asyncio.timeout(self._settings.close_budget_s):
                await self._wire.close()
        except (TimeoutError, OSError, PolicyError):
            # The goodbye was not answered; the socket is gone all the same.
            return
