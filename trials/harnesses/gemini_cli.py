"""Gemini CLI: `gemini --prompt`, its model behind the gateway's Gemini route."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from interlock.trials.harness import Launch, Room, Step, Usage
from interlock.trials.mcp_settings import server_command
from interlock.trials.program_check import need_program
from interlock.trials.transcripts import json_lines, mapping, text_of, whole

if TYPE_CHECKING:
    from interlock.trials.plan import Plan


class GeminiCli:
    """Google's coding agent."""

    wire = "gemini"
    default_model = "gemini/gemini-4-argon"

    def preflight(self, plan: Plan) -> None:
        """Check that the program is there."""
        del plan
        need_program("gemini", harness="gemini-cli", install="npm install -g @google/gemini-cli")

    def launch(self, plan: Plan, room: Room) -> Launch:
        """Return its command line; its settings file is in the trial's own home."""
        argv = ["gemini", "--prompt", room.prompt, "--model", room.model]
        argv += ["--output-format", "stream-json", "--approval-mode", "yolo"]
        settings: dict[str, object] = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": False},
        }
        if plan.interface != "cli":
            settings["mcpServers"] = {"robo": server_command(room)}
        environment = {
            "GEMINI_API_KEY": room.gateway_key,
            "GOOGLE_GEMINI_BASE_URL": room.gateway_url,
            "GEMINI_TELEMETRY_ENABLED": "false",
        }
        files = {".home/.gemini/settings.json": json.dumps(settings)}
        return Launch(argv=tuple(argv), environment=environment, files=files)

    def transcript(self, stdout: str) -> tuple[list[Step], Usage]:
        """Read its stream: messages, tool uses and results, the final statistics."""
        steps: list[Step] = []
        usage = Usage()
        for event in json_lines(stdout):
            match event.get("type"):
                case "message" if event.get("role") == "assistant":
                    steps.append(Step(source="agent", text=text_of(event.get("content"))))
                case "tool_use":
                    name = str(event.get("tool_name"))
                    given = mapping(event.get("parameters"))
                    steps.append(Step(source="agent", text="", tool=name, arguments=given))
                case "tool_result":
                    steps.append(Step(source="tool", text=text_of(event.get("output"))))
                case "result":
                    stats = mapping(event.get("stats"))
                    usage = Usage(
                        input_tokens=whole(stats.get("input_tokens")),
                        output_tokens=whole(stats.get("output_tokens")),
                    )
        return steps, usage

    def failure(self, returncode: int | None, stdout: str) -> str | None:
        """Report an error of its own or a crash."""
        for event in json_lines(stdout):
            if event.get("type") == "result" and event.get("status") == "error":
                return (
                    f"gemini reported: {text_of(mapping(event.get('error')).get('message'))[:300]}"
                )
        return None if returncode == 0 else f"gemini ended with code {returncode}"
