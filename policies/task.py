"""Task handles: everything that runs has one owner, can be awaited, redirected and cancelled."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from interlock.messages import InterlockError
from interlock.policies.errors import CancelledSkillError, ProgramError, code_of, describe

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

    from interlock.policies.runtime import Runtime

T = TypeVar("T")

_current: ContextVar[Task[Any]] = ContextVar("interlock_task")


def current_task() -> Task[Any]:
    """Return the task that is running.

    Raises:
        ProgramError: Outside any task.
    """
    try:
        return _current.get()
    except LookupError:
        raise ProgramError(
            "this works only inside a program: run it with `interlock program FILE.py`, "
            "or as a policy node with POLICY: program"
        ) from None


class Task(Generic[T]):
    """Something that runs: a motion, a tracker, a model call, a program.

    Attributes:
        id: Unique within its runtime; the ``goal`` of its Feedback and Result messages.
        name: What it is, for people, e.g. ``"grasp cup_red"``.
        parent: The task that started it; it ends with its parent unless ``detached``.
        priority: Larger gets the arm first.
        status: ``running``, ``succeeded``, ``failed`` or ``cancelled``.
        phase: What it does now.
        reason: Why it did not succeed; empty otherwise.
        code: Machine-readable reason.
        skill: Its skill, whose parameters ``update`` changes; None for a plain coroutine.
    """

    def __init__(
        self,
        runtime: Runtime,
        work: Callable[[Task[T]], Coroutine[Any, Any, T]],
        *,
        id: str,
        name: str,
        parent: Task[Any] | None = None,
        priority: int = 0,
        detached: bool = False,
        skill: Any = None,
    ) -> None:
        self.runtime = runtime
        self.id, self.name, self.priority, self.detached = id, name, priority, detached
        self.parent = None if detached else parent
        self.skill = skill
        self.children: list[Task[Any]] = []
        self.status, self.phase, self.reason, self.code = "running", "", "", ""
        self.started_ns = runtime.loop.now_ns
        self._cancel_reason = ""
        self._work = runtime.loop.create_task(self._run(work))
        self._work.add_done_callback(_seen)  # how it ended is in its Result message

    async def _run(self, work: Callable[[Task[T]], Coroutine[Any, Any, T]]) -> T:
        _current.set(self)
        try:
            result = await work(self)
        except asyncio.CancelledError:
            await self._end("cancelled", self._cancel_reason or "cancelled", "cancelled")
            raise
        except (InterlockError, Exception) as error:
            await self._end("failed", describe(error), code_of(error))
            raise
        await self._end("succeeded", "", "")
        return result

    async def _end(self, status: str, reason: str, code: str) -> None:
        await self._end_children()
        self.status, self.reason, self.code = status, reason, code
        self.runtime.task_ended(self)

    async def _end_children(self) -> None:
        for child in self.children:
            if not child.done():
                await uninterrupted(child.cancel(f"its owner {self.name!r} ended"))

    def __await__(self) -> Generator[Any, None, T]:
        """Wait for the result; an error of the task is raised here."""
        return self._wait().__await__()

    async def _wait(self) -> T:
        await asyncio.wait([self._work])
        if self._work.cancelled():
            raise CancelledSkillError(f"{self.name}: {self._cancel_reason or 'cancelled'}")
        return self._work.result()

    def done(self) -> bool:
        """Return True when it has ended and what it moved is at rest."""
        return self._work.done()

    def add_done_callback(self, callback: Callable[[Any], object]) -> None:
        """Call back when it has ended."""
        self._work.add_done_callback(callback)

    async def ended(self) -> None:
        """Wait until it has ended, however."""
        await asyncio.wait([self._work])

    def result(self) -> T:
        """Return its result; raises what it raised, or while it still runs."""
        return self._work.result()

    def error(self) -> BaseException | None:
        """Return why it failed; None while it runs, when it succeeded or was cancelled."""
        if not self._work.done() or self._work.cancelled():
            return None
        return self._work.exception()

    async def cancel(self, reason: str = "") -> None:
        """End it; returns when the arm is measured at rest and commanded at rest.

        Cancelling takes effect when the result is awaited; use ``start(task.cancel())`` to go on
        at once.
        """
        if not self._work.done():
            if not self._cancel_reason:
                self._cancel_reason = reason or "cancelled"
                self._work.cancel()
            await asyncio.wait([self._work])

    def update(self, **changes: Any) -> None:
        """Redirect it while it runs, e.g. ``task.update(target="cup_blue")``.

        Raises:
            ProgramError: If it is no skill, has ended, or a parameter does not exist or fit.
        """
        if self.skill is None or self.done():
            state = "has ended" if self.done() else "is no skill"
            raise ProgramError(f"{self.name!r} {state}; only a running skill can be updated")
        self.skill.update(**changes)


def _seen(work: asyncio.Task[Any]) -> None:
    if not work.cancelled():
        work.exception()


async def uninterrupted(work: Coroutine[Any, Any, Any]) -> Any:
    """Finish ``work`` even if the caller is cancelled meanwhile; the cancel is raised after it."""
    inner = asyncio.ensure_future(work)
    interrupted = False
    while not inner.done():
        try:
            await asyncio.wait([inner])
        except asyncio.CancelledError:
            interrupted = True
    if interrupted:
        raise asyncio.CancelledError
    return inner.result()
