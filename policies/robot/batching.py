"""Answer many callers with one forward pass.

A batch goes off as soon as every caller in flight has arrived. The window is only a cap, and it
never exceeds half of what an inference takes: waiting longer for stragglers could not pay.
"""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from interlock.policies.robot.errors import ModelError
from interlock.policies.robot.model import Model, rows, signature, stack

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

_SMOOTHING = 0.3


@dataclass(slots=True)
class _Request:
    observation: Mapping[str, Any]
    arrived_s: float
    future: Future[NDArray[np.float32]] = field(default_factory=Future)


class Batcher:
    """Collects observations of callers on any thread or event loop; runs the model on its own.

    Args:
        model: A batchable model.
        window_s: Longest wait for callers that have not arrived.
        max_batch: Most observations in one pass; the oldest go first.
    """

    def __init__(
        self, model: Model, *, window_s: float = 0.05, max_batch: int | None = None
    ) -> None:
        if not model.batchable:
            raise ModelError(f"{type(model).__name__} takes one observation; set batchable = True")
        self._model = model
        self._window_s = window_s
        self._max_batch = max_batch or 2**30
        self._waiting: list[_Request] = []
        self._callers = 0
        self._infer_s: float | None = None
        self._changed = threading.Condition()
        self._closed = False
        self.widths: list[int] = []
        threading.Thread(target=self._work, name="batcher", daemon=True).start()

    def join(self) -> None:
        """Count one more caller in flight."""
        with self._changed:
            self._callers += 1

    def leave(self) -> None:
        """Count one caller less; nobody waits for it any more."""
        with self._changed:
            self._callers -= 1
            self._changed.notify()

    async def infer(self, observation: Mapping[str, Any]) -> NDArray[np.float32]:
        """Return the chunk of one observation, shape (T, A)."""
        return await asyncio.wrap_future(self.submit(observation))

    def submit(self, observation: Mapping[str, Any]) -> Future[NDArray[np.float32]]:
        """Ask for a chunk; the result arrives in the future."""
        request = _Request(observation, time.monotonic())
        with self._changed:
            if self._closed:
                raise ModelError("the batcher is closed")
            self._waiting.append(request)
            self._changed.notify()
        return request.future

    def close(self) -> None:
        """End the worker; callers still waiting get an error."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _work(self) -> None:
        while (batch := self._next()) is not None:
            self.widths.append(len(batch))
            for group in _alike(batch):
                self._run(group)
        for request in self._waiting:
            request.future.set_exception(ModelError("the batcher is closed"))

    def _next(self) -> list[_Request] | None:
        with self._changed:
            while not self._closed:
                self._waiting = [r for r in self._waiting if not r.future.cancelled()]
                wait_s = self._wait_s()
                if wait_s is not None and wait_s <= 0:
                    batch = self._waiting[: self._max_batch]
                    self._waiting = self._waiting[self._max_batch :]
                    return batch
                self._changed.wait(wait_s)
        return None

    def _wait_s(self) -> float | None:
        """Return how long to wait for more callers; None waits for the first one."""
        if not self._waiting:
            return None
        if len(self._waiting) >= min(max(1, self._callers), self._max_batch):
            return 0.0
        cap_s = self._window_s
        if self._infer_s is not None:
            cap_s = min(cap_s, self._infer_s / 2)
        return max(0.0, self._waiting[0].arrived_s + cap_s - time.monotonic())

    def _run(self, group: list[_Request]) -> None:
        start_s = time.monotonic()
        try:
            chunks = rows(self._model.infer(stack([r.observation for r in group])), len(group))
        except Exception as error:
            self._run_apart(group, error)
            return
        took_s = time.monotonic() - start_s
        before = self._infer_s if self._infer_s is not None else took_s
        self._infer_s = before + _SMOOTHING * (took_s - before)
        for request, chunk in zip(group, chunks, strict=True):
            _settle(request.future, chunk)

    def _run_apart(self, group: list[_Request], error: Exception) -> None:
        """Find out whose observation it was; the others get their answer."""
        if len(group) == 1:
            _fail(group[0].future, error)
            return
        for request in group:
            self._run([request])


class BatchedModel(Model):
    """A model of one caller, answered together with the other callers of the same batcher."""

    def __init__(self, batcher: Batcher, reset: Callable[[], None]) -> None:
        self._batcher = batcher
        self._reset = reset

    async def ainfer(self, observation: Mapping[str, Any]) -> NDArray[np.float32]:
        """Return the chunk of one observation, shape (T, A)."""
        return await self._batcher.infer(observation)

    def reset(self) -> None:
        """Start an episode; the shared model keeps no state of one caller."""
        self._reset()


def _alike(batch: list[_Request]) -> list[list[_Request]]:
    """Split a batch into groups whose observations can be stacked."""
    groups: dict[Any, list[_Request]] = {}
    for request in batch:
        groups.setdefault(signature(request.observation), []).append(request)
    return list(groups.values())


def _settle(future: Future[Any], value: Any) -> None:
    if not future.cancelled():
        future.set_result(value)


def _fail(future: Future[Any], error: Exception) -> None:
    if not future.cancelled():
        future.set_exception(error)
