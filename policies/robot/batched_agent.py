"""Many rollouts at once on one model."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from interlock.policies.robot.batching import BatchedModel, Batcher

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from interlock.messages.contract import Contract
    from interlock.policies.robot.agent import RobotAgent, Rollout


class BatchedAgent:
    """Runs an agent many times at once; their observations go through the model together.

    Each run gets a copy of the agent, its adapter and its ensembler.

    Args:
        agent: The agent, with a batchable model.
        window_s: Longest wait for rollouts that have not arrived.
        batch_size: Most observations in one pass.
    """

    def __init__(
        self, agent: RobotAgent, *, window_s: float = 0.05, batch_size: int | None = None
    ) -> None:
        self._agent = agent
        self._batcher = Batcher(agent.model, window_s=window_s, max_batch=batch_size)

    @property
    def widths(self) -> list[int]:
        """Observations in each pass so far."""
        return self._batcher.widths

    async def run(self, url: str, contract: Contract, **options: Any) -> Rollout:
        """Drive one episode, as `RobotAgent.run`."""
        mine = copy.copy(self._agent)
        mine.adapter = copy.copy(self._agent.adapter)
        mine.ensembler = copy.deepcopy(self._agent.ensembler)
        mine.model = BatchedModel(self._batcher, reset=lambda: None)
        self._batcher.join()
        try:
            return await mine.run(url, contract, **options)
        finally:
            self._batcher.leave()

    def close(self) -> None:
        """End the worker."""
        self._batcher.close()

    def __enter__(self) -> Self:
        """Return the agent."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()
