"""Joins a program to its World and to the Gate: messages in, time forward, messages out."""

from __future__ import annotations

import asyncio
import copy
import json
from collections import deque
from typing import TYPE_CHECKING, Any, TypeVar

from interlock.messages import (
    Event,
    GateStatus,
    Grant,
    Output,
    Received,
    Result,
    RobotState,
    StaleDataError,
    Verdict,
)
from interlock.operators.world import STATE, Stamped, World
from interlock.policies.errors import describe
from interlock.policies.lease import Leases
from interlock.policies.task import Task, _current
from interlock.policies.virtual_loop import VirtualLoop

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from interlock.messages import Basis
    from interlock.policies.arm import Arm
    from interlock.policies.skills.grip import Held
    from interlock.policies.skills.known import Place, Thing
    from interlock.policies.skills.skill import Skill

T = TypeVar("T")

#: When a runtime is closed, its time goes on like this until every task has ended.
CLOSE_STEP_NS = 200_000_000
CLOSE_STEPS = 200
MAX_TOLD = 200


class Runtime:
    """One owner's tasks.

    A node hands in every message (``put``) and gives time (``step``); what the tasks send comes
    back from ``step``.

    Args:
        owner: Name of the owner, unique in the dataflow; its heartbeats keep its tasks alive.
        arm: Kinematics and limits.
        lease_ms: The Gate must hear from the owner at least this often, in ms.
        state_max_age_ms: Older robot states are not acted on.
        world: A World that is shared with others.
        lockstep: True in simulated time: then it may stand still while something is computed.
    """

    def __init__(
        self,
        *,
        owner: str,
        arm: Arm,
        lease_ms: int = 300,
        state_max_age_ms: float = 200.0,
        world: World | None = None,
        lockstep: bool = False,
    ) -> None:
        self.owner, self.arm, self.lockstep = owner, arm, lockstep
        self.state_max_age_ms = state_max_age_ms
        self.loop = VirtualLoop()
        self.world = world or World()
        self.leases = Leases(self, owner=owner, lease_ms=lease_ms)
        self.held: Held | None = None
        #: Object that the fingers may still be around or beside.
        self.near = ""
        self.places: dict[str, Place] = {}
        self.things: dict[str, Thing] = {}
        self.status: GateStatus | None = None
        #: The newest lines that tasks had to say.
        self.told: deque[str] = deque(maxlen=MAX_TOLD)
        self._outbox: list[Output] = []
        self._sent: dict[str, int] = {}
        self._count = 0
        self.loop.set_exception_handler(self._on_unseen_error)

    # ----- messages and time

    def put(self, received: Received[Any]) -> None:
        """Take in a message of any type."""
        message = received.message
        if isinstance(message, Grant):
            self.leases.on_grant(message)
        elif isinstance(message, Verdict):
            self.leases.on_verdict(message)
        elif isinstance(message, GateStatus):
            self._on_status(message)
        else:
            self.world.put(received)

    def step(self, now_ns: int) -> list[Output]:
        """Run everything that is due and return what is to be sent."""
        self.loop.run_until_idle(now_ns)
        self.leases.beat(now_ns)
        out, self._outbox = self._outbox, []
        return out

    def send(self, output: str, message: Any, basis: tuple[Basis, ...] = ()) -> int:
        """Queue a message for the end of this step; return its number on its output."""
        self._outbox.append(Output(output=output, message=message, basis=basis))
        number = self._sent.get(output, -1) + 1
        self._sent[output] = number
        return number

    def close(self) -> None:
        """End every task without waiting for the robot; nothing is sent any more."""
        self.loop.set_exception_handler(lambda *_: None)
        for pending in asyncio.all_tasks(self.loop):
            pending.cancel()
        for _ in range(CLOSE_STEPS):
            if not asyncio.all_tasks(self.loop):
                break
            self.loop.run_until_idle(self.loop.now_ns + CLOSE_STEP_NS)
        self._outbox.clear()
        self.loop.close()

    # ----- what tasks ask

    def read(self, key: str, *, max_age_ms: float) -> Stamped:
        """Return a value that is fresh enough; StaleDataError otherwise."""
        return self.world.read(key, max_age_ms=max_age_ms, now_ns=self.loop.now_ns)

    def state(self) -> RobotState:
        """Return the robot's state, fresh; StaleDataError otherwise."""
        state: RobotState = self.read(STATE, max_age_ms=self.state_max_age_ms).value
        return state

    def at_rest(self, after_ns: int) -> bool:
        """Return True when a state observed after ``after_ns`` says the arm is at rest."""
        try:
            entry = self.read(STATE, max_age_ms=self.state_max_age_ms)
        except StaleDataError:
            return False
        return bool(entry.observed_ns >= after_ns and entry.value.at_rest)

    # ----- tasks

    def start(
        self,
        work: Skill | Coroutine[Any, Any, T],
        *,
        name: str = "",
        priority: int | None = None,
        detached: bool = False,
        id: str = "",
    ) -> Task[Any]:
        """Start a skill or a coroutine as a task and return its handle at once."""
        parent = _current.get(None)
        if priority is None:
            priority = parent.priority if parent else 0
        self._count += 1
        skill = None if hasattr(work, "send") else copy.copy(work)
        title = name or (str(skill) if skill else getattr(work, "__name__", "task"))

        async def run(task: Task[Any]) -> Any:
            return await (work if skill is None else self.run_skill(skill, task))  # type: ignore[misc]

        task = Task(
            self,
            run,
            id=id or f"{self.owner}/{self._count}",
            name=title,
            parent=parent,
            priority=priority,
            detached=detached,
            skill=skill,
        )
        if task.parent is not None:
            task.parent.children.append(task)
        return task

    async def run_skill(self, skill: Skill, task: Task[Any]) -> Any:
        """Run a skill as a task."""
        return await skill.run_as(task)

    def task_ended(self, task: Task[Any]) -> None:
        """Report how a task ended."""
        if task.parent is not None and task in task.parent.children:
            task.parent.children.remove(task)
        took_s = (self.loop.now_ns - task.started_ns) / 1e9
        data = json.dumps({"took_s": round(took_s, 3), "code": task.code})
        result = Result(
            goal=task.id, status=task.status, reason=task.reason, code=task.code, data=data
        )
        self.send("result", result)
        line = f"{task.name}: {task.status} after {took_s:.2f} s"
        self.event("task", f"{line}: {task.reason}" if task.reason else line, code=task.code)

    def event(self, kind: str, text: str, **data: Any) -> None:
        """Send a line for people and the trace."""
        self.told.append(text)
        self.send("event", Event(kind=kind, text=text, data=json.dumps(data)))

    def _on_unseen_error(self, _: Any, context: dict[str, Any]) -> None:
        error = context.get("exception")
        self.event("error", describe(error) if error else str(context.get("message")))

    def _on_status(self, status: GateStatus) -> None:
        if self.status is not None and self.status.boot != status.boot:
            self.leases.revoke_all("the Gate has restarted")
        self.status = status
