"""Codex: `codex exec --json`, its model behind the gateway's Responses route."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from interlock.trials.harness import Launch, Room, Step, Usage
from interlock.trials.mcp_settings import server_command
from interlock.trials.program_check import need_program
from interlock.trials.transcripts import json_lines, mapping, text_of, whole

if TYPE_CHECKING:
    from interlock.trials.plan import Plan


class Codex:
    """OpenAI's coding agent."""

    wire = "responses"
    default_model = "openai/gpt-6-astra"

    def preflight(self, plan: Plan) -> None:
        """Check that the program is there."""
        del plan
        need_program("codex", harness="codex", install="npm install -g @openai/codex")

    def launch(self, plan: Plan, room: Room) -> Launch:
        """Return its command line with a provider of its own: the gateway."""
        settings = {
            "web_search": "disabled",
            "model_provider": "interlock",
            "model_providers.interlock.name": "interlock",
            "model_providers.interlock.base_url": f"{room.gateway_url}/v1",
            "model_providers.interlock.env_key": "INTERLOCK_GATEWAY_KEY",
            "model_providers.interlock.wire_api": "responses",
        }
        argv = ["codex", "exec", "--json", "--skip-git-repo-check"]
        argv += ["--dangerously-bypass-approvals-and-sandbox"]
        for key, value in settings.items():
            argv += ["-c", f"{key}={json.dumps(value)}"]
        if plan.interface != "cli":
            server = server_command(room)
            argv += ["-c", f"mcp_servers.robo.command={json.dumps(server['command'])}"]
            argv += ["-c", f"mcp_servers.robo.args={json.dumps(server['args'])}"]
            pairs = ", ".join(f"{k} = {json.dumps(v)}" for k, v in server["env"].items())
            argv += ["-c", f"mcp_servers.robo.env={{ {pairs} }}"]
        argv += ["-m", room.model, "-C", str(room.workspace), room.prompt]
        environment = {
            "INTERLOCK_GATEWAY_KEY": room.gateway_key,
            "CODEX_HOME": str(room.workspace / ".codex"),
        }
        return Launch(argv=tuple(argv), environment=environment, files={".codex/.keep": ""})

    def transcript(self, stdout: str) -> tuple[list[Step], Usage]:
        """Read its events: messages, commands with their output, tool calls, turns."""
        steps: list[Step] = []
        tokens_in = tokens_out = 0
        for event in json_lines(stdout):
            if event.get("type") == "turn.completed":
                used = mapping(event.get("usage"))
                tokens_in += whole(used.get("input_tokens")) or 0
                tokens_out += whole(used.get("output_tokens")) or 0
            elif event.get("type") == "item.completed":
                steps += _item(mapping(event.get("item")))
        return steps, Usage(input_tokens=tokens_in or None, output_tokens=tokens_out or None)

    def failure(self, returncode: int | None, stdout: str) -> str | None:
        """Report a failed turn or a crash."""
        for event in json_lines(stdout):
            if event.get("type") == "turn.failed":
                return (
                    f"codex reported: {text_of(mapping(event.get('error')).get('message'))[:300]}"
                )
        return None if returncode == 0 else f"codex ended with code {returncode}"


def _item(item: dict[str, object]) -> list[Step]:
    match item.get("type"):
        case "agent_message" | "reasoning":
            return [Step(source="agent", text=text_of(item))]
        case "command_execution":
            given = {"command": str(item.get("command", ""))}
            return [
                Step(source="agent", text="", tool="shell", arguments=given),
                Step(source="tool", text=text_of(item.get("aggregated_output"))),
            ]
        case "mcp_tool_call":
            name, given = str(item.get("tool")), mapping(item.get("arguments"))
            return [
                Step(source="agent", text="", tool=name, arguments=given),
                Step(source="tool", text=text_of(mapping(item.get("result")).get("content"))),
            ]
    return []
