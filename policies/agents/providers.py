"""Models behind an API: Anthropic, and everything that speaks OpenAI's chat protocol.

Their own client libraries do the talking: time-outs, and retries that honour Retry-After.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from interlock.messages import SettingsError
from interlock.policies.agents.model import AgentError, Call, Reply, ScriptedModel, Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from interlock.policies.agents.model import Model, Tool

TIMEOUT_S = 120.0
RETRIES = 4
MAX_TOKENS = 4096


def make_model(name: str, *, base_url: str = "") -> Model:
    """Return a model by name.

    Args:
        name: ``anthropic/<model>``, ``openai/<model>``, or ``scripted:<file>`` with a JSON list of
            answers: text, or ``{"tool", "arguments"}``.
        base_url: Another endpoint that speaks OpenAI's protocol.

    Raises:
        SettingsError: If there is no such provider, or its client library is not installed.
    """
    kind, _, rest = name.partition(":" if name.startswith("scripted:") else "/")
    if kind == "scripted" and rest:
        return scripted_model(rest)
    makers: dict[str, Callable[[str, str], Model]] = {
        "anthropic": AnthropicModel,
        "openai": OpenAIModel,
    }
    if kind not in makers or not rest:
        raise SettingsError(
            f"MODEL {name!r}: expected anthropic/<model>, openai/<model> or scripted:<file>"
        )
    try:
        return makers[kind](rest, base_url)
    except ImportError as error:
        raise SettingsError(f"MODEL {name!r} needs more: pip install interlock[llm]") from error


def scripted_model(path: str) -> ScriptedModel:
    """Return a model that answers from a JSON file."""
    from pathlib import Path

    try:
        entries = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SettingsError(f"cannot read the scripted model {path}: {error}") from error
    replies = []
    for i, entry in enumerate(entries):
        if isinstance(entry, str):
            replies.append(Reply(text=entry))
        else:
            call = Call(id=str(i), name=entry["tool"], arguments=entry.get("arguments", {}))
            replies.append(Reply(calls=(call,)))
    return ScriptedModel(replies)


class AnthropicModel:
    """A model of Anthropic's; the key comes from ANTHROPIC_API_KEY."""

    def __init__(self, model: str, base_url: str) -> None:
        import anthropic

        self._errors: tuple[type[Exception], ...] = (anthropic.AnthropicError,)
        self._client: Any = anthropic.Anthropic(
            base_url=base_url or None, timeout=TIMEOUT_S, max_retries=RETRIES
        )
        self._model = model

    async def ask(self, system: str, turns: Sequence[Turn], tools: Sequence[Tool]) -> Reply:
        """Return the model's next turn."""
        asked = {
            "model": self._model,
            "system": system,
            "max_tokens": MAX_TOKENS,
            "messages": [_anthropic(turn) for turn in turns],
            "tools": [
                {"name": t.name, "description": t.description, "input_schema": t.schema}
                for t in tools
            ],
        }
        answer = await _in_a_thread(self._client.messages.create, asked, self._errors)
        calls = tuple(
            Call(id=b.id, name=b.name, arguments=b.input if isinstance(b.input, dict) else None)
            for b in answer.content
            if b.type == "tool_use"
        )
        return Reply(
            text="".join(b.text for b in answer.content if b.type == "text"),
            calls=calls,
            tokens_in=answer.usage.input_tokens,
            tokens_out=answer.usage.output_tokens,
        )


class OpenAIModel:
    """A model behind OpenAI's chat protocol; the key comes from OPENAI_API_KEY."""

    def __init__(self, model: str, base_url: str) -> None:
        import openai

        self._errors: tuple[type[Exception], ...] = (openai.OpenAIError,)
        self._client: Any = openai.OpenAI(
            base_url=base_url or None, timeout=TIMEOUT_S, max_retries=RETRIES
        )
        self._model = model

    async def ask(self, system: str, turns: Sequence[Turn], tools: Sequence[Tool]) -> Reply:
        """Return the model's next turn."""
        asked: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": "system", "content": system}, *map(_openai, turns)],
        }
        if tools:
            asked["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": t.name,
                        "description": t.description,
                        "parameters": t.schema,
                    },
                }
                for t in tools
            ]
        answer = await _in_a_thread(self._client.chat.completions.create, asked, self._errors)
        message = answer.choices[0].message
        calls = tuple(
            Call(id=c.id, name=c.function.name, arguments=_object(c.function.arguments))
            for c in message.tool_calls or ()
        )
        usage = answer.usage
        return Reply(
            text=message.content or "",
            calls=calls,
            tokens_in=usage.prompt_tokens if usage else 0,
            tokens_out=usage.completion_tokens if usage else 0,
        )


async def _in_a_thread(create: Any, asked: dict[str, Any], errors: Any) -> Any:
    try:
        return await asyncio.to_thread(create, **asked)
    except errors as error:
        raise AgentError(f"the model failed: {type(error).__name__}: {error!s:.300}") from error


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _anthropic(turn: Turn) -> dict[str, Any]:
    if turn.role == "tool":
        block = {"type": "tool_result", "tool_use_id": turn.call_id, "content": turn.text}
        return {"role": "user", "content": [block]}
    content: list[dict[str, Any]] = [{"type": "text", "text": turn.text}] if turn.text else []
    for call in turn.calls:
        used = {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments or {}}
        content.append(used)
    return {"role": "assistant" if turn.role == "model" else "user", "content": content}


def _openai(turn: Turn) -> dict[str, Any]:
    if turn.role == "tool":
        return {"role": "tool", "tool_call_id": turn.call_id, "content": turn.text}
    if turn.role == "user":
        return {"role": "user", "content": turn.text}
    message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
    if turn.calls:
        message["tool_calls"] = [
            {
                "id": c.id,
                "type": "function",
                "function": {"name": c.name, "arguments": json.dumps(c.arguments or {})},
            }
            for c in turn.calls
        ]
    return message
