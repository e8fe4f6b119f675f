"""Claude Code: `claude -p` with streamed JSON, its model behind the gateway."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from interlock.trials.harness import Launch, Room, Step, Usage
from interlock.trials.mcp_settings import server_command
from interlock.trials.program_check import need_program
from interlock.trials.transcripts import json_lines, mapping, text_of, whole

if TYPE_CHECKING:
    from interlock.trials.plan import Plan


class ClaudeCode:
    """Anthropic's coding agent."""

    wire = "anthropic"
    default_model = "anthropic/claude-sonnet-5"

    def preflight(self, plan: Plan) -> None:
        """Check that the program is there."""
        del plan
        need_program(
            "claude", harness="claude-code", install="npm install -g @anthropic-ai/claude-code"
        )

    def launch(self, plan: Plan, room: Room) -> Launch:
        """Return its command line; its settings live and die with the trial."""
        argv = ["claude", "-p", room.prompt, "--model", room.model]
        argv += ["--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"]
        argv += ["--max-turns", "400", "--tools", "Bash,Read,Write,Edit,Glob,Grep"]
        files: dict[str, str] = {}
        if plan.interface != "cli":
            files[".mcp-robo.json"] = json.dumps({"mcpServers": {"robo": server_command(room)}})
            argv += ["--mcp-config", ".mcp-robo.json", "--strict-mcp-config"]
        names = ("ANTHROPIC_MODEL", "ANTHROPIC_SMALL_FAST_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL")
        environment = {
            "ANTHROPIC_BASE_URL": room.gateway_url,
            "ANTHROPIC_API_KEY": room.gateway_key,
            "CLAUDE_CONFIG_DIR": str(room.workspace / ".claude"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            # It refuses to skip permissions as root unless told that it is in a sandbox.
            "IS_SANDBOX": "1",
            **dict.fromkeys(names, room.model),
        }
        return Launch(argv=tuple(argv), environment=environment, files=files)

    def transcript(self, stdout: str) -> tuple[list[Step], Usage]:
        """Read its stream: assistant messages, tool calls, tool results, the final result."""
        steps: list[Step] = []
        usage = Usage()
        for event in json_lines(stdout):
            if event.get("type") == "result":
                usage = _usage(event)
            elif event.get("type") in ("assistant", "user"):
                content = mapping(event.get("message")).get("content")
                steps += _parts(str(event["type"]), content)
        return steps, usage

    def failure(self, returncode: int | None, stdout: str) -> str | None:
        """Report an error of its own: API errors, a bad key, a crash."""
        for event in json_lines(stdout):
            if event.get("type") == "result" and event.get("is_error"):
                return f"claude reported: {text_of(event.get('result'))[:300]}"
        return None if returncode == 0 else f"claude ended with code {returncode}"


def _parts(role: str, content: object) -> list[Step]:
    if isinstance(content, str):
        return [Step(source="agent" if role == "assistant" else "system", text=content)]
    steps = []
    for part in content if isinstance(content, list) else []:
        data = mapping(part)
        match data.get("type"):
            case "text":
                steps.append(Step(source="agent", text=text_of(data)))
            case "tool_use":
                name, given = str(data.get("name")), mapping(data.get("input"))
                steps.append(Step(source="agent", text="", tool=name, arguments=given))
            case "tool_result":
                steps.append(Step(source="tool", text=text_of(data.get("content"))))
    return steps


def _usage(event: dict[str, object]) -> Usage:
    used = mapping(event.get("usage"))
    cost = event.get("total_cost_usd")
    return Usage(
        input_tokens=whole(used.get("input_tokens")),
        output_tokens=whole(used.get("output_tokens")),
        cost_usd=float(cost) if isinstance(cost, int | float) else None,
    )
