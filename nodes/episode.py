"""Episode node: moves the robot for an agent of a trial, one skill at a time, through the Gate.

Inputs:   state, objects, verdict, grant, status, value, tick.
Outputs:  command, request, heartbeat, cancel, feedback, result, event, operator_stop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from interlock.messages import Stop
from interlock.nodes.policy import PolicyNode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from interlock.messages import Output


class EpisodeNode(PolicyNode):
    """Gives its runtime the messages and the time; whoever runs the trial starts the tasks."""

    @dataclass(frozen=True, kw_only=True)
    class Settings(PolicyNode.Settings):
        """What the dataflow may set; ``policy``, ``object`` and ``target`` are not used."""

        policy: str = "episode"

    outputs: ClassVar = {**PolicyNode.outputs, "operator_stop": Stop}

    def _make(self) -> Any:
        return None

    def _step(self, now_ns: int) -> Iterable[Output]:
        return self.runtime.step(now_ns)


NODE = EpisodeNode


def main() -> None:
    """Run under dora."""
    from interlock.nodes._dora import run

    run(NODE)


if __name__ == "__main__":
    main()
