"""Skills node: runs skills for whoever asks, over the graph (goal, cancel) or over its socket.

Inputs:   state, objects, verdict, grant, status, value, goal, cancel_goal, tick.
Outputs:  command, request, heartbeat, cancel, feedback, result, event, value.
"""

from __future__ import annotations

import json
import queue
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from interlock.gate.keyfile import key_folder
from interlock.messages import (
    Cancel,
    Feedback,
    Goal,
    InterlockError,
    Result,
    WorldValue,
)
from interlock.nodes._desk_socket import DeskSocket, Line
from interlock.nodes.policy import PolicyNode
from interlock.policies.desk import Desk
from interlock.policies.skills import make_skill

if TYPE_CHECKING:
    from collections.abc import Iterable

    from interlock.messages import Output, Received
    from interlock.nodes._node import Context
    from interlock.policies.task import Task

SUFFIX = ".desk.sock"
_FEEDBACK_NS = 200_000_000


class SkillsNode(PolicyNode):
    """Serves goals until the run ends."""

    @dataclass(frozen=True, kw_only=True)
    class Settings(PolicyNode.Settings):
        """What the dataflow may set, besides what a policy node has.

        Attributes:
            socket: Serve clients on a unix socket (MCP, `interlock world`); left out: unless in
                lockstep.
        """

        socket: bool | None = None

    inputs: ClassVar = {**PolicyNode.inputs, "goal": Goal, "cancel_goal": Cancel}
    outputs: ClassVar = {**PolicyNode.outputs, "value": WorldValue}

    def __init__(self, settings: Settings, context: Context) -> None:
        super().__init__(settings, context)
        self.desk = Desk(self.runtime)
        self._goals: dict[str, Task[Any]] = {}
        self._told: dict[str, str] = {}
        self._feedback_ns = 0
        wanted = not context.lockstep if settings.socket is None else settings.socket
        path = key_folder() / f"{context.run_id}{SUFFIX}"
        self._socket = DeskSocket(path) if wanted else None

    def _make(self) -> Any:
        return None

    def on_goal(self, received: Received[Goal], now_ns: int) -> Iterable[Output]:
        """Start a skill, or redirect the running one of the same goal; acknowledge either."""
        goal = received.message
        self.runtime.loop.run_until_idle(now_ns)
        try:
            parameters = json.loads(goal.parameters)
            known = self._goals.get(goal.goal)
            if known is None:
                self._start(goal, parameters)
            elif not known.done():
                known.update(**parameters)
            self.runtime.send("feedback", Feedback(goal=goal.goal, phase="accepted"))
        except (InterlockError, ValueError, TypeError, AttributeError) as error:
            refused = Result(goal=goal.goal, status="refused", reason=str(error), code="refused")
            self.runtime.send("result", refused)
        return self._step(now_ns)

    def _start(self, goal: Goal, parameters: dict[str, Any]) -> None:
        skill = make_skill(goal.skill, parameters)
        task = self.runtime.start(
            skill, priority=goal.priority, detached=goal.detached, id=goal.goal
        )
        self._goals[goal.goal] = task
        if len(self._goals) > 1000:
            self._goals.pop(next(iter(self._goals)))

    def on_cancel_goal(self, received: Received[Cancel], now_ns: int) -> Iterable[Output]:
        """Cancel a goal; its Result comes when the arm is at rest."""
        task = self._goals.get(received.message.task)
        if task is not None and not task.done():
            self.runtime.loop.create_task(task.cancel(received.message.reason))
        return self._step(now_ns)

    def _step(self, now_ns: int) -> Iterable[Output]:
        self.runtime.loop.run_until_idle(now_ns)
        self._take_lines()
        self._tell_phases(now_ns)
        return self.runtime.step(now_ns)

    def _take_lines(self) -> None:
        if self._socket is None:
            return
        while True:
            try:
                line = self._socket.lines.get_nowait()
            except queue.Empty:
                return
            if line.request is None:
                self.desk.gone(line.client)
            else:
                self.desk.ask(line.client, line.request, self._replier(line, self._socket))

    @staticmethod
    def _replier(line: Line, desk: DeskSocket) -> Any:
        number = line.request.get("id") if isinstance(line.request, dict) else None
        return lambda values: desk.answer(line, {"id": number, **values})

    def _tell_phases(self, now_ns: int) -> None:
        if now_ns - self._feedback_ns < _FEEDBACK_NS:
            return
        self._feedback_ns = now_ns
        for goal, task in self._goals.items():
            if not task.done() and self._told.get(goal) != task.phase:
                self._told[goal] = task.phase
                self.runtime.send("feedback", Feedback(goal=goal, phase=task.phase))

    def on_stop(self, now_ns: int) -> Iterable[Output]:
        """Close the socket and end every task."""
        if self._socket is not None:
            self._socket.close()
        return super().on_stop(now_ns)


NODE = SkillsNode


def main() -> None:
    """Run under dora."""
    from interlock.nodes._dora import run

    run(NODE)


if __name__ == "__main__":
    main()
