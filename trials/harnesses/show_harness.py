"""Show-harness: a vision model that answers with one unit at a time, six moves, two grips, DONE.

With a provider's model it plans and controls zero-shot; without ``--model`` it asks a fine-tuned
one at INTERLOCK_SHOW_HARNESS_URL. It has no unit to refuse with, so a task whose right answer is a
refusal cannot be solved by it; the trial is run and its configuration says so.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from interlock.trials.errors import InvalidSetupError
from interlock.trials.harness import Launch, Room, Step, Usage
from interlock.trials.interpreter import python_program
from interlock.trials.transcripts import json_lines, text_of

if TYPE_CHECKING:
    from interlock.trials.plan import Plan

#: World -> axes of forward, left and up in its frame, and the length of a step in m.
WORLDS: dict[str, dict[str, object]] = {
    "tabletop": {"fwd": [1, 0, 0], "left": [0, 1, 0], "up": [0, 0, 1], "step_m": 0.02},
    "libero": {"fwd": [1, 0, 0], "left": [0, 1, 0], "up": [0, 0, 1], "step_m": 0.02},
    "cubepick": {"fwd": [0, 1, 0], "left": [-1, 0, 0], "up": None, "step_m": 0.05},
}
VIEWS = {"tabletop": ["front", "wrist"], "libero": ["agentview", "wrist"], "cubepick": ["top"]}


class ShowHarness:
    """Language units in a closed loop, every control step counted."""

    wire = "openai"
    default_model = "show-harness/served"

    def preflight(self, plan: Plan) -> None:
        """Refuse any other robot before it could move.

        Raises:
            InvalidSetupError: If the units mean nothing on the task's robot.
        """
        if plan.task.world not in WORLDS:
            known = ", ".join(WORLDS)
            raise InvalidSetupError(
                f"show-harness moves {known}; its units mean nothing on {plan.task.world!r}"
            )

    def launch(self, plan: Plan, room: Room) -> Launch:
        """Run `show_agent.py` with the units of this world."""
        fine_tuned = plan.model.startswith("show-harness/")
        settings = {
            "mode": "fine-tuned" if fine_tuned else "zero-shot",
            "task": (plan.task.language or plan.task.title) if fine_tuned else plan.task.prompt,
            "model": room.model,
            "url": f"{room.gateway_url}/v1/chat/completions",
            "views": VIEWS[plan.task.world],
            "can_refuse": False,
            **WORLDS[plan.task.world],
        }
        source = (Path(__file__).parent / "show_agent.py").read_text(encoding="utf-8")
        return Launch(
            argv=(python_program(), "-IS", "-u", "show_agent.py"),
            environment={"INTERLOCK_GATEWAY_KEY": room.gateway_key},
            files={"show_agent.py": source, "settings.json": json.dumps(settings)},
        )

    def transcript(self, stdout: str) -> tuple[list[Step], Usage]:
        """Read its events: one unit a decision, and what the robot did."""
        steps = [
            Step(
                source="tool" if event["event"] == "moved" else "agent",
                text=text_of(event.get("text")),
                tool=str(event.get("unit", "")),
            )
            for event in json_lines(stdout)
            if event.get("event") in ("plan", "unit", "moved")
        ]
        return steps, Usage()

    def failure(self, returncode: int | None, stdout: str) -> str | None:
        """Report a model that could not be reached, or a crash."""
        for event in json_lines(stdout):
            if event.get("event") == "error":
                return text_of(event.get("text"))[:300]
        return None if returncode == 0 else f"show-harness ended with code {returncode}"
