"""The robot's own thread and the event loop of its clients, kept apart only when it pays.

The robot always runs on the thread that calls `run`, which is where simulators want to live. The
event loop normally runs on a second thread, so that clients are answered during a long step. Two
hops between threads cost more than a quick step takes, so while steps are quick the robot's
thread borrows the loop and steps in between; a reset, or a step that turns slow, gives it back.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

_IDLE_S = 0.05
#: A step this long does not delay anybody who waits for the loop.
_QUICK_S = 0.005
_QUICK_STEPS = 5
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Job:
    function: Callable[..., Any]
    args: tuple[Any, ...]
    done: Callable[[Any, BaseException | None], object]
    is_step: bool


class RobotThread:
    """Runs jobs one at a time, in the order they were asked for.

    Args:
        idle: Called on the robot's thread while there is nothing to do; the loop is then never
            borrowed.
    """

    def __init__(self, idle: Callable[[], None] | None = None) -> None:
        self._loop = asyncio.new_event_loop()
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._idle = idle
        self._main: asyncio.Task[Any] | None = None
        self._lent, self._returned = threading.Event(), threading.Event()
        self._wanted = False
        self._borrowed = False
        self._quick_steps = 0
        self.ended = threading.Event()

    # The event loop

    def serve(self, main: Coroutine[Any, Any, None]) -> None:
        """Run the event loop with this task, on a thread of its own."""
        self._main = self._loop.create_task(main)
        self._main.add_done_callback(lambda _: self._loop.stop())
        threading.Thread(target=self._run_loop, name="bridge", daemon=True).start()

    def _run_loop(self) -> None:
        assert self._main is not None
        while not self._main.done():
            self._loop.run_forever()
            if self._wanted:
                self._wanted = False
                self._lent.set()
                self._returned.wait()
                self._returned.clear()
        self._loop.run_until_complete(_cancel_rest())
        self._loop.close()
        self.ended.set()
        self._lent.set()

    def _borrow_loop(self) -> None:
        """Run the loop here until a job needs the robot for long."""
        self._wanted = True
        try:
            self._loop.call_soon_threadsafe(self._loop.stop)
        except RuntimeError:
            return
        self._lent.wait()
        self._lent.clear()
        if self.ended.is_set():
            return
        self._borrowed = True
        try:
            # A job may have been asked for just before the loop was lent; it comes first.
            if self._jobs.empty():
                self._loop.run_forever()
        finally:
            self._borrowed = False
            self._returned.set()

    # Jobs, asked for on the event loop

    def post(
        self,
        done: Callable[[Any, BaseException | None], object],
        function: Callable[..., Any],
        *args: Any,
        is_step: bool = False,
    ) -> None:
        """Run a function on the robot's thread, then ``done(result, error)`` on the loop."""
        job = _Job(function, args, done, is_step)
        if self._borrowed and is_step and self._quick():
            self._execute(job)
            return
        self._jobs.put(job)
        if self._borrowed:
            self._loop.stop()

    async def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run a function on the robot's thread and await its result."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def settle(result: Any, error: BaseException | None) -> None:
            if future.done():
                return
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

        self.post(settle, function, *args)
        return await future

    def stop(self) -> None:
        """Let `run` return after the jobs that were asked for before; safe from any thread."""
        self._jobs.put(None)
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(lambda: self._borrowed and self._loop.stop())

    # The robot's thread

    def run(self) -> None:
        """Serve jobs until `stop`."""
        while True:
            if self._quick() and self._jobs.empty() and not self.ended.is_set():
                self._borrow_loop()
            try:
                job = self._jobs.get(timeout=_IDLE_S if self._idle else None)
            except queue.Empty:
                self._pump()
                continue
            if job is None:
                return
            self._execute(job)

    def _execute(self, job: _Job) -> None:
        start_s = time.perf_counter()
        try:
            result, error = job.function(*job.args), None
        except Exception as caught:
            result, error = None, caught
        if job.is_step:
            took_s = time.perf_counter() - start_s
            self._quick_steps = self._quick_steps + 1 if took_s < _QUICK_S else 0
        if self._borrowed:
            self._loop.call_soon(job.done, result, error)
            return
        # The loop may be closed already: then nobody is left to tell.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(job.done, result, error)

    def _quick(self) -> bool:
        return self._idle is None and self._quick_steps >= _QUICK_STEPS

    def _pump(self) -> None:
        try:
            if self._idle is not None:
                self._idle()
        except Exception:
            _log.exception("the robot's idle() failed")
            self._idle = None


async def _cancel_rest() -> None:
    """Cancel what still runs, so that every transport is closed before its loop."""
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)
    await asyncio.sleep(0)
