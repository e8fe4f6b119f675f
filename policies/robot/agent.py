"""Drive one robot through one episode: observe, infer, act."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from interlock.policies.robot.adapter import Adapter
from interlock.policies.robot.client import LinkSettings, Observation, RobotClient
from interlock.policies.robot.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from interlock.messages.contract import Contract
    from interlock.policies.robot.ensembler import Ensembler
    from interlock.policies.robot.model import Model


class Recorder(Protocol):
    """Takes an episode as it happens; `interlock.operators.lerobot_dataset` has one."""

    def add(
        self,
        data: Mapping[str, Any],
        action: NDArray[np.float32],
        *,
        observed_ns: int | None = None,
        reward: float | None = None,
        terminated: bool = False,
        verdict: Mapping[str, Any] | None = None,
    ) -> None:
        """Take one observation and the action it led to."""

    def end(self, terminal: Mapping[str, Any] | None = None, **outcome: Any) -> None:
        """Take the last observation; the episode is complete."""

    def abort(self) -> None:
        """Drop the episode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """How one episode went.

    Attributes:
        steps: Actions executed.
        terminated: Whether the robot ended the episode, not the step limit.
        total_reward: Sum of the rewards the robot gave.
        refusals: Actions that were refused or clipped, by code.
    """

    steps: int
    terminated: bool
    total_reward: float
    refusals: Mapping[str, int] = field(default_factory=dict)


class RobotAgent:
    """Runs a model on a robot.

    Everything is a class attribute too, so a subclass may set only what it needs, with or without
    calling this constructor.

    Attributes:
        model: What decides.
        adapter: Between robot and model; None passes observations through.
        ensembler: Blends overlapping chunks and infers at every step; None executes chunks.
        max_steps: Actions after which an episode is given up.
        link: Limits of the connection.
    """

    model: Model
    adapter: Adapter | None = None
    ensembler: Ensembler | None = None
    max_steps: int = 520
    link: LinkSettings = LinkSettings()

    def __init__(
        self,
        model: Model | None = None,
        adapter: Adapter | None = None,
        *,
        ensembler: Ensembler | None = None,
        max_steps: int | None = None,
        link: LinkSettings | None = None,
    ) -> None:
        if model is not None:
            self.model = model
        self.adapter = adapter or self.adapter
        self.ensembler = ensembler or self.ensembler
        self.max_steps = max_steps or self.max_steps
        self.link = link or self.link

    def should_stop(self, observation: Observation, step: int) -> bool:
        """Return whether the episode is over; called before every action."""
        return observation.terminated or step >= self.max_steps

    async def run(
        self,
        url: str,
        contract: Contract,
        *,
        prompt: str = "",
        token: str | None = None,
        access_token: str | None = None,
        recorder: Recorder | None = None,
    ) -> Rollout:
        """Drive one episode and return how it went; grading is the robot's side.

        Raises:
            RobotLinkError: The robot refused, went away or did not answer.
            ModelError: The model returned something that can't be executed.
        """
        adapter = self.adapter or Adapter()
        adapter.bind(contract)
        adapter.reset()
        self.model.reset()
        if self.ensembler is not None:
            self.ensembler.reset()
        client = await RobotClient.connect(
            url, token=token, access_token=access_token, settings=self.link
        )
        async with client:
            drive = _Drive(self, adapter, contract, prompt, recorder)
            return await drive.episode(client)


class _Drive:
    """One episode: what is left of the chunk, and the counts."""

    def __init__(
        self,
        agent: RobotAgent,
        adapter: Adapter,
        contract: Contract,
        prompt: str,
        recorder: Recorder | None,
    ) -> None:
        self._agent = agent
        self._adapter = adapter
        self._width = contract.action.width
        self._prompt = prompt
        self._recorder = recorder
        self._chunk: list[NDArray[np.float32]] = []
        self._refusals: dict[str, int] = {}

    async def episode(self, client: RobotClient) -> Rollout:
        """Run until the agent says stop."""
        observation = await client.get_observation()
        step, total = 0, 0.0
        try:
            while not self._agent.should_stop(observation, step):
                action = await self._act(observation)
                after = await client.step(action)
                self._count(after)
                if self._recorder is not None:
                    self._recorder.add(observation.data, action, **_facts(observation, after))
                observation, step = after, step + 1
                total += observation.reward or 0.0
        except BaseException:
            if self._recorder is not None:
                self._recorder.abort()
            raise
        if self._recorder is not None:
            self._recorder.end(observation.data, total_reward=total)
        return Rollout(
            steps=step,
            terminated=observation.terminated,
            total_reward=total,
            refusals=self._refusals,
        )

    async def _act(self, observation: Observation) -> NDArray[np.float32]:
        ensembler = self._agent.ensembler
        if ensembler is not None:
            action = ensembler.add(await self._infer(observation))
        else:
            if not self._chunk:
                chunk = await self._infer(observation)
                self._chunk = list(chunk[: self._adapter.chunk_size])
            action = self._chunk.pop(0)
        action = self._adapter.adapt_action(action, observation)
        if self._width is not None and action.shape != (self._width,):
            raise ModelError(
                f"the model's action has shape {list(action.shape)}, the robot takes "
                f"[{self._width}]; check the adapter"
            )
        return action

    async def _infer(self, observation: Observation) -> NDArray[np.float32]:
        batch = self._adapter.adapt_observation(observation, self._prompt)
        chunk = await self._agent.model.ainfer(batch)
        return self._adapter.adapt_chunk(chunk, observation)

    def _count(self, observation: Observation) -> None:
        verdict = observation.meta.get("verdict") or {}
        for code in verdict.get("codes", ()):
            self._refusals[code] = self._refusals.get(code, 0) + 1


def _facts(before: Observation, after: Observation) -> dict[str, Any]:
    return {
        "observed_ns": before.meta.get("observed_ns") or before.received_ns,
        "reward": after.reward,
        "terminated": after.terminated,
        "verdict": after.meta.get("verdict"),
    }
