"""What programs import: ``from interlock.policies.program import start, changes, wait, world``.

A program is a Python file with ``async def main()``. Everything it starts is a task that ends with
it. Time comes from the dataflow: ``asyncio.sleep``, ``asyncio.timeout`` and ``asyncio.gather`` work
as usual, live and in lockstep.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from interlock.policies.task import Task, current_task

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Sequence

    from interlock.operators.world import Stamped
    from interlock.policies.skills.skill import Skill

__all__ = ["Task", "changes", "report", "start", "wait", "world"]


def start(
    work: Skill | Coroutine[Any, Any, Any],
    *,
    name: str = "",
    priority: int | None = None,
    detached: bool = False,
) -> Task[Any]:
    """Start a skill or a coroutine as a task, and return its handle at once.

    Args:
        work: What to run.
        name: What it is, for people; a skill has a name already.
        priority: Larger gets the arm first; None takes that of the task that starts it.
        detached: True lets it go on when the task that started it ends.
    """
    runtime = current_task().runtime
    return runtime.start(work, name=name, priority=priority, detached=detached)


class _World:
    """The World of the program that is running."""

    def read(self, key: str, *, max_age_ms: float) -> Any:
        """Return the value of a key that is no older than ``max_age_ms``.

        Raises:
            StaleDataError: If it is older or was never received.
        """
        return self.stamped(key, max_age_ms=max_age_ms).value

    def stamped(self, key: str, *, max_age_ms: float) -> Stamped:
        """Return a value with when and by whom it was observed."""
        return current_task().runtime.read(key, max_age_ms=max_age_ms)

    def set(self, key: str, value: Any) -> None:
        """Put a value in for the other tasks of this program."""
        task = current_task()
        runtime = task.runtime
        runtime.world.set(key, value, observed_ns=runtime.loop.now_ns, source=task.name)

    def keys(self) -> tuple[str, ...]:
        """Return the names of all values."""
        return current_task().runtime.world.keys()

    async def next(self, *keys: str) -> Any:
        """Wait for the next new value of any of the keys and return it."""
        return (await current_task().runtime.world.next(*keys)).value


#: What the program knows of the world.
world = _World()


async def changes(key: str, *, while_running: Task[Any] | None = None) -> AsyncIterator[Any]:
    """Yield each new value of a key, the newest if several came, until a task has ended."""
    source = current_task().runtime.world
    async for entry in source.changes(key, while_running=while_running):
        yield entry.value


async def wait(*, wake_on: Sequence[str] = (), timeout_s: float | None = None) -> str:
    """Wait until one of some keys gets a new value; return its key, or "" after the timeout."""
    source = current_task().runtime.world
    try:
        async with asyncio.timeout(timeout_s):
            if not wake_on:
                await asyncio.get_running_loop().create_future()
            return (await source.next(*wake_on)).key
    except TimeoutError:
        return ""


def report(text: str, **data: Any) -> None:
    """Send a line for people and the trace."""
    current_task().runtime.event("task", text, **data)
