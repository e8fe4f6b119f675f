"""Episode node: moves the robot for an agent of a trial, one skill at a time, through the Gate.

Inputs:   state, objects, verdict, grant, status, value, tick.
Outputs:  command, request, heartbeat, cancel, feedback, result, event.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from interlock.nodes.policy import PolicyNode

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable

    from interlock.messages import Output
    from interlock.policies.skills import Skill
    from interlock.policies.task import Task


class EpisodeNode(PolicyNode):
    """Owns the tasks that requests of the agent start; it has no program of its own."""

    @dataclass(frozen=True, kw_only=True)
    class Settings(PolicyNode.Settings):
        """What the dataflow may set; ``policy``, ``object`` and ``target`` are not used."""

        policy: str = "episode"

    def _make(self, settings: Any, context: Any) -> Any:
        return None

    def begin(self, work: Skill | Coroutine[Any, Any, Any], *, name: str) -> Task[Any]:
        """Start a skill or a sequence of them; it moves as time goes on."""
        return self.runtime.start(work, name=name)

    def cancel(self, task: Task[Any], reason: str) -> None:
        """Have a task end with the arm at rest; it is done some control steps later."""
        self.runtime.start(task.cancel(reason), name=f"cancel {task.name}", detached=True)

    def _step(self, now_ns: int) -> Iterable[Output]:
        return self.runtime.step(now_ns)


NODE = EpisodeNode


def main() -> None:
    """Run under dora."""
    from interlock.nodes._dora import run

    run(NODE)


if __name__ == "__main__":
    main()
