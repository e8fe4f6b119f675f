"""What an agent asks a language model, what comes back, and what it may cost."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from interlock.policies.errors import SkillError

if TYPE_CHECKING:
    from collections.abc import Sequence


class AgentError(SkillError):
    """An agent that can't go on: its budget is spent, or its model fails."""

    code = "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool that the model wants to use.

    Attributes:
        id: Its id, repeated with the result.
        name: Name of the tool.
        arguments: Its arguments; None when the model sent no JSON object.
    """

    id: str
    name: str
    arguments: dict[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model answered.

    Attributes:
        text: Its text.
        calls: Tools that it wants to use.
        tokens_in: Tokens read.
        tokens_out: Tokens written.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One entry of the conversation.

    Attributes:
        role: ``user``, ``model`` or ``tool``.
        text: Its text; of a tool, its result.
        calls: Tools used, for role ``model``.
        call_id: Call that a tool's result belongs to.
    """

    role: str
    text: str
    calls: tuple[Call, ...] = ()
    call_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool as models are told of it.

    Attributes:
        name: Its name.
        description: What it does, in one line.
        schema: JSON schema of its arguments.
    """

    name: str
    description: str
    schema: dict[str, Any]


class Model(Protocol):
    """A language model; one request at a time, cancellable."""

    async def ask(self, system: str, turns: Sequence[Turn], tools: Sequence[Tool]) -> Reply:
        """Return the model's next turn."""


@dataclass(slots=True, kw_only=True)
class Budget:
    """What an agent may use; checked before each question to the model.

    Attributes:
        steps: Questions to the model.
        tokens: Tokens read and written.
        usd: Money; needs the prices.
        seconds_s: Time, in s on the dataflow's clock.
        usd_per_million: Price of a million tokens read and written.
    """

    steps: int = 30
    tokens: int = 200_000
    usd: float = 1.0
    seconds_s: float = 600.0
    usd_per_million: tuple[float, float] = (0.0, 0.0)
    used_steps: int = 0
    used_tokens: int = 0
    used_usd: float = 0.0
    _began_s: float | None = field(default=None)

    def check(self) -> None:
        """Raise AgentError when something is spent; else count a step."""
        now_s = asyncio.get_running_loop().time()
        self._began_s = now_s if self._began_s is None else self._began_s
        limits = {
            "steps": (self.used_steps, self.steps),
            "tokens": (self.used_tokens, self.tokens),
            "usd": (self.used_usd, self.usd),
            "seconds": (now_s - self._began_s, self.seconds_s),
        }
        for name, (used, limit) in limits.items():
            if not used < limit:
                raise AgentError(f"the agent's budget is spent: {used:g} of {limit:g} {name}")
        self.used_steps += 1

    def count(self, reply: Reply) -> None:
        """Count what a reply has cost."""
        self.used_tokens += reply.tokens_in + reply.tokens_out
        price_in, price_out = self.usd_per_million
        self.used_usd += (reply.tokens_in * price_in + reply.tokens_out * price_out) / 1e6


class ScriptedModel:
    """Answers from a list: for tests and demos without a key.

    Args:
        replies: Its answers in order; text or a Reply.
        latency_s: Time it takes to think, in s on the dataflow's clock.
    """

    def __init__(self, replies: Sequence[Reply | str], *, latency_s: float = 0.0) -> None:
        self._replies = [Reply(text=r) if isinstance(r, str) else r for r in replies]
        self._latency_s = latency_s
        self.seen: list[Sequence[Turn]] = []

    async def ask(self, system: str, turns: Sequence[Turn], tools: Sequence[Tool]) -> Reply:
        """Return the next answer.

        Raises:
            AgentError: When there is none left.
        """
        self.seen.append(tuple(turns))
        await asyncio.sleep(self._latency_s)
        if not self._replies:
            raise AgentError("the scripted model has no answer left")
        return self._replies.pop(0)
