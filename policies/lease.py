"""Motion authority: a token of the Gate, asked for, kept alive, and given back at rest."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from interlock.messages import Cancel, Grant, Heartbeat, TaskRequest
from interlock.policies.errors import AuthorityError, RestError
from interlock.policies.task import uninterrupted

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

    from interlock.messages import Verdict
    from interlock.policies.runtime import Runtime

REPEAT_S = 0.1
REST_TIMEOUT_S = 3.0


@dataclass(slots=True, kw_only=True)
class Lease:
    """The right to move something, for as long as the Gate says so.

    Attributes:
        runtime: Where messages go out.
        request: What was asked for.
        token: The Gate's token; empty until it is granted.
        lost: Why it is void; empty while it holds.
        on_verdict: Called with the Gate's answer to each command under this token.
    """

    runtime: Runtime
    request: TaskRequest
    token: str = ""
    lost: str = ""
    on_verdict: Callable[[Verdict], None] | None = None
    _queued: str = ""
    _answer: asyncio.Event = field(default_factory=asyncio.Event)

    async def __aenter__(self) -> Self:
        """Wait for the token.

        Raises:
            AuthorityError: If the Gate refuses.
        """
        self.runtime.leases.opened(self)
        try:
            while not (self.token or self.lost):
                self.runtime.send("request", self.request)
                await self._answered(REPEAT_S)
            self.check()
        except BaseException:
            self.runtime.leases.closed(self)
            self._cancel(finished=False, reason="no longer wanted")
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        """Give the token back and wait until the arm is at rest."""
        reason = "" if kind is None else (str(error) or kind.__name__)
        try:
            await uninterrupted(self._give_back(finished=kind is None, reason=reason))
        finally:
            self.runtime.leases.closed(self)

    def check(self) -> None:
        """Raise AuthorityError when the token is void."""
        if self.lost:
            raise AuthorityError(f"{self.request.name!r} may not move the robot: {self.lost}")

    def on_grant(self, grant: Grant) -> None:
        """Take in the Gate's word."""
        if grant.state == "granted":
            self.token = grant.task
        elif grant.state == "queued":
            self._queued = grant.task
            return  # its turn will come with another Grant
        elif grant.state in ("refused", "revoked", "ended"):
            self.lost = grant.reason or f"the Gate says {grant.state}"
            self.token = self.token or grant.task
        self._answer.set()

    async def _answered(self, timeout_s: float) -> None:
        self._answer.clear()
        try:
            async with asyncio.timeout(timeout_s):
                await self._answer.wait()
        except TimeoutError:
            return

    def _cancel(self, *, finished: bool, reason: str) -> None:
        token = self.token or self._queued
        if token:
            cancel = Cancel(task=token, reason=reason[:200], finished=finished)
            self.runtime.send("cancel", cancel)

    async def _give_back(self, *, finished: bool, reason: str) -> None:
        if not self.lost:
            await self._end_token(finished=finished, reason=reason)
        await self._rest()

    async def _end_token(self, *, finished: bool, reason: str) -> None:
        for _ in range(round(REST_TIMEOUT_S / REPEAT_S)):
            self._cancel(finished=finished, reason=reason)
            await self._answered(REPEAT_S)
            if self.lost:
                return

    async def _rest(self) -> None:
        after_ns = self.runtime.loop.now_ns
        try:
            async with asyncio.timeout(REST_TIMEOUT_S):
                while not self.runtime.at_rest(after_ns):
                    await self.runtime.world.next("state")
        except TimeoutError:
            raise RestError(
                f"{self.request.name!r} ended, but the arm was not seen at rest within "
                f"{REST_TIMEOUT_S:.0f} s. Is the driver alive?"
            ) from None


class Leases:
    """Every lease of one owner."""

    def __init__(self, runtime: Runtime, *, owner: str, lease_ms: int) -> None:
        self.owner, self.lease_ms = owner, lease_ms
        self._runtime = runtime
        self._open: dict[str, Lease] = {}
        self._count = 0
        self._beat_ns = -(10**18)

    def lease(
        self, name: str, *, resources: tuple[str, ...], touches: tuple[str, ...], priority: int
    ) -> Lease:
        """Return a lease to enter with ``async with``."""
        self._count += 1
        request = TaskRequest(
            request=f"{self.owner}-{self._count}",
            owner=self.owner,
            name=name,
            resources=resources,
            priority=priority,
            touches=touches,
            lease_ms=self.lease_ms,
        )
        return Lease(runtime=self._runtime, request=request)

    @property
    def moving(self) -> bool:
        """True while one of its tasks holds a token."""
        return any(lease.token and not lease.lost for lease in self._open.values())

    def opened(self, lease: Lease) -> None:
        """Listen for the Gate's word on a lease."""
        self._open[lease.request.request] = lease

    def closed(self, lease: Lease) -> None:
        """Stop listening."""
        self._open.pop(lease.request.request, None)

    def on_grant(self, grant: Grant) -> None:
        """Hand the Gate's word to its lease; a token nobody waits for is given back."""
        lease = self._open.get(grant.request) if grant.owner == self.owner else None
        if lease is not None:
            lease.on_grant(grant)

    def on_verdict(self, verdict: Verdict) -> None:
        """Hand a verdict to the lease whose token the command carried."""
        for lease in self._open.values():
            if lease.token == verdict.task and lease.on_verdict is not None:
                lease.on_verdict(verdict)

    def revoke_all(self, reason: str) -> None:
        """Make every lease void, e.g. because the Gate has restarted."""
        for lease in self._open.values():
            lease.lost = lease.lost or reason
            lease._answer.set()

    def beat(self, now_ns: int) -> None:
        """Send a heartbeat when a third of the lease has passed."""
        if now_ns - self._beat_ns >= self.lease_ms * 1_000_000 // 3:
            self._beat_ns = now_ns
            self._runtime.send("heartbeat", Heartbeat(owner=self.owner))
