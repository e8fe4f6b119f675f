"""A remote client as the owner of one task: its actions become commands under its token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from interlock.messages import Command
from interlock.policies.errors import describe
from interlock.policies.skills.skill import Skill

if TYPE_CHECKING:
    from interlock.messages import Verdict
    from interlock.nodes._bridge_door import Asked, Door
    from interlock.policies.runtime import Runtime
    from interlock.policies.skills.body import Body
    from interlock.policies.task import Task

#: From now to the first instant that a new command changes.
LEAD_NS = 20_000_000
N_JOINTS = 7


@dataclass
class Guest(Skill):
    """Holds the arm for a client until it leaves or the Gate says no.

    Attributes:
        guests: Who sends its commands.
        visit: Which visit of which client.
        prompt: What it is there for.
        touch: Objects that it may touch.
    """

    guests: Guests
    visit: str
    prompt: str
    touch: tuple[str, ...] = ()

    targets: ClassVar[tuple[str, ...]] = ()

    def touches(self) -> tuple[str, ...]:
        """Return the objects that it may touch."""
        return self.touch

    def __str__(self) -> str:
        return f"bridge: {self.prompt}" if self.prompt else "bridge"

    async def run(self, body: Body) -> dict[str, Any]:
        """Hold the token; what moves is what the client asks for."""
        self.guests.came_in(self.visit, body)
        while True:
            await body.cycle()


class Guests:
    """The node's side of the door: starts, feeds and ends the task of the client.

    Args:
        runtime: The node's tasks and messages.
        door: Where the client waits.
        period_ns: Time of one action.
        streams: True when the next action is expected to follow without a rest between.
        touch: Objects that a client may touch.
    """

    def __init__(
        self,
        runtime: Runtime,
        door: Door,
        *,
        period_ns: int,
        streams: bool,
        touch: tuple[str, ...] = (),
    ) -> None:
        self._runtime, self._door = runtime, door
        self._period_ns, self._streams, self._touch = period_ns, streams, touch
        self._visit = ""
        self._task: Task[Any] | None = None
        self._leaving = False
        self._body: Body | None = None
        self._sent: tuple[int, int] | None = None
        self._due_ns = 0
        self._prompt = ""

    @property
    def ending(self) -> bool:
        """True while a task whose client left still comes to rest."""
        return self._leaving and self._task is not None

    def begin_episode(self, prompt: str) -> None:
        """Take the prompt of the next task; called from the bridge's thread."""
        self._prompt = prompt

    def step(self) -> None:
        """Follow the client's wishes; call at every control cycle."""
        self._note_end()
        wanted = self._door.wanted
        if self._task is None:
            if wanted:
                self._begin(wanted)
        elif wanted != self._visit:
            self._end_task()
        elif self._body is not None and self._body.lease.token:
            asked = self._door.take()
            if asked is not None:
                self._send(asked, self._body)

    def came_in(self, visit: str, body: Body) -> None:
        """Take note that the Gate has granted the arm."""
        self._body, self._sent, self._due_ns = body, None, 0
        body.lease.on_verdict = self._on_verdict
        self._door.granted(visit)

    def _begin(self, visit: str) -> None:
        self._visit, self._leaving, self._body = visit, False, None
        guest = Guest(guests=self, visit=visit, prompt=self._prompt, touch=self._touch)
        self._task = self._runtime.start(guest)

    def _end_task(self) -> None:
        if not self._leaving and self._task is not None:
            self._leaving, self._body = True, None
            self._runtime.loop.create_task(self._task.cancel("the client left"))

    def _note_end(self) -> None:
        task = self._task
        if task is not None and task.done():
            error = task.error()
            self._task, self._body = None, None
            self._door.lost(self._visit, describe(error) if error else task.reason)

    def _send(self, asked: Asked, body: Body) -> None:
        now_ns = self._runtime.loop.now_ns
        # An action in time goes on where the one before it ends; else it begins as soon as it can.
        start_ns = self._due_ns if self._due_ns >= now_ns + LEAD_NS else 0
        row = asked.action.astype(np.float64)
        command = Command(
            task=body.lease.token,
            space="joint",
            targets=row[None, :N_JOINTS],
            period_ns=self._period_ns,
            gripper_m=row[N_JOINTS:],
            start_ns=start_ns,
            ends_at_rest=not self._streams,
        )
        self._sent = (self._runtime.send("command", command, asked.basis), start_ns)

    def _on_verdict(self, verdict: Verdict) -> None:
        if self._sent is None or verdict.seq != self._sent[0]:
            return
        start_ns = max(self._sent[1], verdict.committed_until_ns)
        self._due_ns = start_ns + self._period_ns if verdict.admitted else 0
        if not verdict.admitted:
            codes = ", ".join(verdict.codes)
            self._runtime.event("refused", verdict.sentence, codes=codes)
        self._door.answer(verdict, start_ns)
