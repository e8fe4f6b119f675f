"""mini-swe-agent: `mini`, a bash-only agent on chat completions behind the gateway."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from interlock.trials.errors import PreflightError
from interlock.trials.harness import Launch, Room, Step, Usage
from interlock.trials.program_check import need_program
from interlock.trials.transcripts import mapping, text_of

if TYPE_CHECKING:
    from interlock.trials.plan import Plan

MARK = "INTERLOCK-TRAJECTORY"


class MiniSweAgent:
    """A small agent that only runs shell commands; it sees no pictures."""

    wire = "openai"
    default_model = "glm/glm-5.3"

    def preflight(self, plan: Plan) -> None:
        """Check that the program is there, and that nobody asks it for MCP."""
        need_program("mini", harness="mini-swe-agent", install="pipx install mini-swe-agent")
        if plan.interface == "mcp":
            raise PreflightError("mini-swe-agent has no MCP client; use --interface cli")

    def launch(self, plan: Plan, room: Room) -> Launch:
        """Run it and print its trajectory file when it has ended."""
        del plan
        mini = ["mini", "-y", "--exit-immediately", "-l", "0", "-m", f"openai/{room.model}"]
        mini += ["-t", room.prompt, "-o", "trajectory.json"]
        script = f'"$@"; code=$?; echo; echo {MARK}; cat trajectory.json; exit $code'
        environment = {
            "OPENAI_API_KEY": room.gateway_key,
            "OPENAI_API_BASE": f"{room.gateway_url}/v1",
            "OPENAI_BASE_URL": f"{room.gateway_url}/v1",
            "MSWEA_CONFIGURED": "true",
            "MSWEA_COST_TRACKING": "ignore_errors",
        }
        argv = ("/bin/sh", "-c", script, "mini", *mini)
        return Launch(argv=argv, environment=environment, programs=("mini",))

    def transcript(self, stdout: str) -> tuple[list[Step], Usage]:
        """Read the messages of its trajectory file."""
        _, _, text = stdout.rpartition(MARK)
        try:
            data = mapping(json.loads(text))
        except ValueError:
            return [Step(source="agent", text=stdout[-20_000:])] if stdout else [], Usage()
        steps = []
        for message in data.get("messages") or []:
            row = mapping(message)
            source = {"assistant": "agent", "user": "tool"}.get(str(row.get("role")), "system")
            steps.append(Step(source=source, text=text_of(row.get("content"))))
        return steps, Usage()

    def failure(self, returncode: int | None, stdout: str) -> str | None:
        """Report a crash."""
        del stdout
        return None if returncode == 0 else f"mini ended with code {returncode}"
