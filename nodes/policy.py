"""Policy node: runs one program of `policies/`, chosen by POLICY, as the owner of its tasks.

Inputs:   state, objects, verdict, grant, status, value, tick.
Outputs:  command, request, heartbeat, cancel, feedback, result, event.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from interlock.messages import (
    Cancel,
    Command,
    Event,
    Feedback,
    GateStatus,
    Grant,
    Heartbeat,
    InterlockError,
    ObjectPoses,
    Result,
    RobotState,
    TaskRequest,
    Verdict,
    WorldValue,
)
from interlock.nodes._node import Context, Node
from interlock.nodes._program_guard import FileWatch, not_longer_than
from interlock.nodes._scene import scene_settings
from interlock.nodes._skill_arm import know_scene, panda_arm
from interlock.policies import make_program
from interlock.policies.errors import describe
from interlock.policies.runtime import Runtime

if TYPE_CHECKING:
    from collections.abc import Iterable

    from interlock.messages import Output, Received
    from interlock.policies.task import Task

#: How often a watched program's file is looked at, and how long a safe point is waited for, in ns.
LOOK_NS = 300_000_000
SAFE_POINT_NS = 10_000_000_000


class PolicyNode(Node):
    """Starts the program with the first robot state, and ends when the program does."""

    @dataclass(frozen=True, kw_only=True)
    class Settings:
        """What the dataflow may set.

        Attributes:
            policy: Name in ``interlock.policies.PROGRAMS``.
            object: What to take.
            target: Where to put it.
            program: A Python file with ``async def main()``, for POLICY: program.
            scene: Scene whose places and shapes are known; empty for none.
            lease_ms: The Gate ends the tasks when it has not heard from this node for as long.
            state_max_age_ms: Older robot states are not acted on.
            duration_s: How long POLICY: noop stays, in s; 0 for ever.
        model: Language model for POLICY react, code and two_rate: ``anthropic/<model>``,
            ``openai/<model>`` or ``scripted:<file>``.
        base_url: Another endpoint that speaks OpenAI's protocol.
        instruction: What the model is to do.
        max_steps: Questions to the model.
        max_tokens: Tokens read and written.
        max_usd: Money, at ``usd_per_million``.
        usd_per_million: Price of a million tokens read and written.
        max_seconds_s: Time for the agent, in s.
        watch: True to replace the program at a safe point when its file changes.
        """

        policy: str = "scripted"
        object: str = "cup_red"
        target: str = "tray"
        program: str = ""
        scene: str = "tabletop"
        lease_ms: int = 300
        state_max_age_ms: float = 500.0
        duration_s: float = 0.0
        model: str = ""
        base_url: str = ""
        instruction: str = ""
        max_steps: int = 30
        max_tokens: int = 200_000
        max_usd: float = 1.0
        usd_per_million: tuple[float, float] = (0.0, 0.0)
        max_seconds_s: float = 600.0
        watch: bool = False

    inputs: ClassVar = {
        "state": RobotState,
        "objects": ObjectPoses,
        "verdict": Verdict,
        "grant": Grant,
        "status": GateStatus,
        "value": WorldValue,
    }
    nice: ClassVar = -5
    outputs: ClassVar = {
        "command": Command,
        "request": TaskRequest,
        "heartbeat": Heartbeat,
        "cancel": Cancel,
        "feedback": Feedback,
        "result": Result,
        "event": Event,
    }

    def __init__(self, settings: Settings, context: Context) -> None:
        super().__init__(settings, context)
        self.runtime = Runtime(
            owner=context.node_id,
            arm=panda_arm(),
            lease_ms=settings.lease_ms,
            state_max_age_ms=settings.state_max_age_ms,
            lockstep=context.lockstep,
        )
        if settings.scene:
            know_scene(self.runtime, scene_settings(settings.scene, context))
        self._options = settings
        self._watch: FileWatch | None = None
        if settings.program:
            program = (context.dataflow_dir / settings.program).resolve()
            self._options = dataclasses.replace(settings, program=str(program))
            self._watch = FileWatch(program) if settings.watch else None
        kind, _, script = settings.model.partition(":")
        if kind == "scripted":
            path = (context.dataflow_dir / script).resolve()
            self._options = dataclasses.replace(self._options, model=f"scripted:{path}")
        self._main = self._make()
        self._task: Task[Any] | None = None
        self._replace_by_ns: int | None = None
        self._looked_ns = 0

    def _make(self) -> Any:
        return make_program(self._options.policy, self._options)

    def on_state(self, received: Received[RobotState], now_ns: int) -> Iterable[Output]:
        """Take in the robot's state and run a control cycle."""
        self.runtime.put(received)
        return self._step(now_ns)

    def _take(self, received: Received[Any], now_ns: int) -> Iterable[Output]:
        self.runtime.put(received)
        return ()

    on_objects = on_verdict = on_status = on_value = _take

    def on_grant(self, received: Received[Grant], now_ns: int) -> Iterable[Output]:
        """Take in the Gate's word on a token, and go on at once."""
        self.runtime.put(received)
        return self._step(now_ns)

    def on_tick(self, now_ns: int) -> Iterable[Output]:
        """Run a control cycle."""
        return self._step(now_ns)

    def _step(self, now_ns: int) -> Iterable[Output]:
        if self._watch is not None:
            self._look_for_a_new_program(now_ns)
        if self._task is None and self.runtime.world.latest("state") is not None:
            self.runtime.loop.run_until_idle(now_ns)
            self._task = self.runtime.start(self._main(), name=self.settings.policy)
        with not_longer_than():
            outputs = self.runtime.step(now_ns)
        if self._task is not None and self._task.done():
            self._close(self._task)
        return outputs

    def _look_for_a_new_program(self, now_ns: int) -> None:
        """Take a changed file at a safe point: between motions, or after a while from rest."""
        assert self._watch is not None
        if now_ns - self._looked_ns > LOOK_NS:
            self._looked_ns = now_ns
            if self._watch.changed():
                try:
                    self._main = self._make()
                    self._replace_by_ns = now_ns + SAFE_POINT_NS
                except InterlockError as error:
                    self.runtime.event("error", f"{error}; the running program goes on")
        due = self._replace_by_ns is not None
        if due and self._task is not None and not self._task.done():
            late = now_ns >= (self._replace_by_ns or 0)
            if late or not self.runtime.leases.moving:
                self.runtime.loop.create_task(self._task.cancel("replaced by a newer program"))

    def _close(self, task: Task[Any]) -> None:
        if self._replace_by_ns is not None and task.status == "cancelled":
            self._task, self._replace_by_ns = None, None
        elif task.status == "succeeded":
            result = task.result()
            self.finished = str(result) if result is not None else f"{task.name} is done"
        else:
            error = task.error()
            self.failed = f"{task.name}: {describe(error) if error else task.reason}"

    def on_closed(self, input_id: str, reason: str, now_ns: int) -> Iterable[Output]:
        """Without the Gate or the robot nothing can be done; other inputs just go stale."""
        if input_id.startswith(("verdict", "grant", "state")):
            self.failed = self.failed or f"input {input_id} {reason}"
        return ()

    def on_stop(self, now_ns: int) -> Iterable[Output]:
        """End the program; the Gate has the arm at rest without us."""
        self.runtime.close()
        return ()


NODE = PolicyNode


def main() -> None:
    """Run under dora."""
    from interlock.nodes._dora import run

    run(NODE)


if __name__ == "__main__":
    main()
