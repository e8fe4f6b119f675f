"""Share one robot endpoint among many rollouts: a pool of leases, and results by trial id."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from types import TracebackType
    from typing import Self

    from interlock.messages.contract import Contract
    from interlock.policies.robot.agent import Rollout


class Provider(Protocol):
    """Where episodes come from; `interlock.robots.bridge.RobotEndpoint` is one."""

    @property
    def url(self) -> str:
        """Where agents connect."""

    def start(self) -> Any:
        """Start the robot."""

    def stop(self) -> None:
        """Stop it."""

    def contract(self) -> Contract:
        """Return what the robot shows and accepts."""

    async def areset(self, *, wait_s: float = 600.0, **task: Any) -> dict[str, Any]:
        """Start an episode."""

    async def aresult(self, token: str | None = None) -> dict[str, Any]:
        """Grade an episode and free its slot."""


class Runner(Protocol):
    """Anything that drives an episode: `RobotAgent` and `BatchedAgent`."""

    async def run(self, url: str, contract: Contract, **options: Any) -> Rollout:
        """Drive one episode."""


@dataclass(slots=True)
class Lease:
    """One episode on the shared robot.

    Attributes:
        url: Where the agent connects.
        contract: What the robot shows and accepts.
        prompt: The task in words.
        token: Token of the episode.
        result: The grade, once the lease is given back.
    """

    url: str
    contract: Contract
    prompt: str
    token: str
    result: dict[str, Any] | None = None


class Shared:
    """Lets ``width`` rollouts use one robot at a time; the next one waits.

    Args:
        provider: The robot, started with the first lease and stopped on exit.
        width: Rollouts at one time; the number of its slots.
    """

    def __init__(self, provider: Provider, *, width: int = 1) -> None:
        self._provider = provider
        self._slots = asyncio.Semaphore(width)
        self._starting = asyncio.Lock()
        self._contract: Contract | None = None

    @contextlib.asynccontextmanager
    async def lease(self, **task: Any) -> AsyncIterator[Lease]:
        """Start an episode; it is graded and its slot freed when the block ends."""
        async with self._slots:
            contract = await self._started()
            episode = await self._provider.areset(**task)
            lease = Lease(self._provider.url, contract, episode["prompt"], episode["token"])
            try:
                yield lease
            finally:
                # The slot must not stay claimed even if the rollout is being cancelled.
                grading = asyncio.ensure_future(self._provider.aresult(lease.token))
                lease.result = await asyncio.shield(grading)

    async def close(self) -> None:
        """Stop the robot."""
        await asyncio.to_thread(self._provider.stop)
        self._contract = None

    async def __aenter__(self) -> Self:
        """Return the pool."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the robot."""
        await self.close()

    async def _started(self) -> Contract:
        async with self._starting:
            if self._contract is None:
                await asyncio.to_thread(self._provider.start)
                self._contract = await asyncio.to_thread(self._provider.contract)
        return self._contract


async def run_trials(
    shared: Shared,
    agent: Runner,
    trials: Mapping[str, Mapping[str, Any]],
    *,
    group: int = 1,
    max_concurrent: int | None = None,
    on_done: Callable[[str, dict[str, Any]], None] | None = None,
) -> dict[str, dict[str, Any]]:
    """Run every trial and return results by trial id, in the order of the plan.

    A trial that fails has an ``error`` and no score; it does not disturb the others.

    Args:
        shared: The robot.
        agent: Drives each trial.
        trials: Arguments of the reset by trial id.
        group: How often each trial runs; more than once gives ids ``"id/0"``, ``"id/1"``, ...
        max_concurrent: Trials under way at one time; the width of the pool is a limit of its own.
        on_done: Told of each trial as it ends, in the order of ending.
    """
    if group > 1:
        trials = {f"{id}/{i}": task for id, task in trials.items() for i in range(group)}
    limit = asyncio.Semaphore(max_concurrent or max(1, len(trials)))

    async def one(id: str, task: Mapping[str, Any]) -> dict[str, Any]:
        async with limit:
            result = await _trial(shared, agent, task)
        if on_done is not None:
            on_done(id, result)
        return result

    results = await asyncio.gather(*(one(id, task) for id, task in trials.items()))
    return dict(zip(trials, results, strict=True))


async def _trial(shared: Shared, agent: Runner, task: Mapping[str, Any]) -> dict[str, Any]:
    try:
        async with shared.lease(**task) as lease:
            rollout = await agent.run(
                lease.url, lease.contract, prompt=lease.prompt, token=lease.token
            )
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return {**(lease.result or {}), "steps": rollout.steps}
