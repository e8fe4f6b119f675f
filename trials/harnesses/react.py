"""Our own small agent: a chat model that calls the verbs as tools, one after the other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from interlock.trials.command_line import tool_schemas
from interlock.trials.harness import Launch, Room, Step, Usage
from interlock.trials.interpreter import python_program
from interlock.trials.transcripts import json_lines, mapping, text_of, whole

if TYPE_CHECKING:
    from interlock.trials.plan import Plan


class React:
    """Reason, act, look: the plainest loop there is."""

    wire = "openai"
    default_model = "anthropic/claude-sonnet-5"

    def preflight(self, plan: Plan) -> None:
        """Need nothing but a model, which the gateway checks."""

    def launch(self, plan: Plan, room: Room) -> Launch:
        """Run `react_agent.py` with the verbs as tools."""
        del plan
        settings = {
            "prompt": room.prompt,
            "model": room.model,
            "url": f"{room.gateway_url}/v1/chat/completions",
            "tools": tool_schemas(),
        }
        source = (Path(__file__).parent / "react_agent.py").read_text(encoding="utf-8")
        return Launch(
            argv=(python_program(), "-IS", "-u", "react_agent.py"),
            environment={"INTERLOCK_GATEWAY_KEY": room.gateway_key},
            files={"react_agent.py": source, "settings.json": json.dumps(settings)},
        )

    def transcript(self, stdout: str) -> tuple[list[Step], Usage]:
        """Read its events."""
        steps: list[Step] = []
        tokens_in = tokens_out = 0
        for event in json_lines(stdout):
            used = mapping(event.get("usage"))
            tokens_in += whole(used.get("prompt_tokens")) or 0
            tokens_out += whole(used.get("completion_tokens")) or 0
            if event.get("event") in ("agent", "tool"):
                given = mapping(event.get("arguments"))
                tool = str(event.get("tool", ""))
                text = text_of(event.get("text"))
                steps.append(Step(source=event["event"], text=text, tool=tool, arguments=given))
        return steps, Usage(input_tokens=tokens_in or None, output_tokens=tokens_out or None)

    def failure(self, returncode: int | None, stdout: str) -> str | None:
        """Report a model that could not be reached, or a crash."""
        for event in json_lines(stdout):
            if event.get("event") == "error":
                return text_of(event.get("text"))[:300]
        return None if returncode == 0 else f"the agent ended with code {returncode}"
