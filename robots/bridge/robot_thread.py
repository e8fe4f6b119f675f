"""The robot's own thread: one job at a time, in the order they were asked for."""

from __future__ import annotations

import asyncio
import logging
import queue
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Job = tuple["Callable[..., Any]", tuple[Any, ...], "Callable[[Any, BaseException | None], object]"]

_IDLE_S = 0.05
_log = logging.getLogger(__name__)


class RobotThread:
    """Runs jobs on the thread that calls `run`, which is where simulators want to live."""

    def __init__(self, idle: Callable[[], None] | None = None) -> None:
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._idle = idle

    def post(
        self,
        done: Callable[[Any, BaseException | None], object],
        function: Callable[..., Any],
        *args: Any,
    ) -> None:
        """Run ``function(*args)`` on the robot's thread, then ``done(result, error)`` there."""
        self._jobs.put((function, args, done))

    async def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run a function on the robot's thread and await its result."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()

        def settle(result: Any, error: BaseException | None) -> None:
            if future.done():
                return
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

        self.post(
            lambda result, error: loop.call_soon_threadsafe(settle, result, error), function, *args
        )
        return await future

    def run(self) -> None:
        """Serve jobs until `stop`."""
        while True:
            try:
                job = self._jobs.get(timeout=_IDLE_S if self._idle else None)
            except queue.Empty:
                self._pump()
                continue
            if job is None:
                return
            function, args, done = job
            try:
                result, error = function(*args), None
            except Exception as caught:
                result, error = None, caught
            try:
                done(result, error)
            except RuntimeError:
                # The event loop is already closed: nobody is left to tell.
                return

    def stop(self) -> None:
        """Let `run` return after the jobs that were asked for before."""
        self._jobs.put(None)

    def _pump(self) -> None:
        try:
            if self._idle is not None:
                self._idle()
        except Exception:
            _log.exception("the robot's idle() failed")
            self._idle = None
