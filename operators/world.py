"""One freshness-checked view of the stamped messages that a node receives."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from interlock.messages import (
    MessageError,
    ObjectPoses,
    RobotState,
    StaleDataError,
    WorldValue,
    owned,
)
from interlock.operators.stamped import MAX_VALUE_BYTES, ObjectPose, Stamped, parse_value

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable

    from interlock.messages import Received

#: Bounds on what a foreign sender can make a World keep.
MAX_KEYS = 1000

__all__ = ["MAX_KEYS", "MAX_VALUE_BYTES", "STATE", "ObjectPose", "Stamped", "World"]

#: Key of the robot's own state.
STATE = "state"


class Finishes(Protocol):
    """Something that ends: a task handle or an asyncio future."""

    def done(self) -> bool:
        """Return True when it has ended."""

    def add_done_callback(self, callback: Callable[[Any], object], /) -> object:
        """Call back once it has ended."""


class World:
    """The latest value of every key, read with a stated age, watched for changes.

    Objects get a key each (``cup_red``), the robot's state is ``state``, values that people and
    models put in keep their own key, and any other message has its output as key.

    Args:
        min_confidence: A pose that its tracker trusts less than this counts as not seen.
    """

    def __init__(self, *, min_confidence: float = 0.2) -> None:
        self._min_confidence = min_confidence
        self._values: dict[str, Stamped] = {}
        self._watchers: dict[str, list[Callable[[Stamped], None]]] = {}
        self._sources: dict[str, str] = {}

    def put(self, received: Received[Any]) -> tuple[str, ...]:
        """Take in a message and return the keys that changed.

        Raises:
            MessageError: If a WorldValue is no JSON or too large, or there are too many keys.
        """
        message, stamp = received.message, received.stamp
        if isinstance(message, ObjectPoses):
            return self._put_objects(message, received)
        key, value = received.output, message
        if isinstance(message, RobotState):
            key, value = STATE, owned(message)
        elif isinstance(message, WorldValue):
            key, value = message.key, parse_value(message, stamp.source)
        entry = Stamped(
            key=key,
            value=value,
            observed_ns=stamp.observed_ns,
            received_ns=received.received_ns,
            source=stamp.source,
            basis=received.basis,
        )
        return (key,) if self._store(entry) else ()

    def set(self, key: str, value: Any, *, observed_ns: int, source: str) -> None:
        """Put a value in from this process."""
        self._store(
            Stamped(
                key=key,
                value=value,
                observed_ns=observed_ns,
                received_ns=observed_ns,
                source=source,
            )
        )

    def read(self, key: str, *, max_age_ms: float, now_ns: int) -> Stamped:
        """Return a value that is no older than ``max_age_ms``.

        Raises:
            StaleDataError: If it is older, from the future by as much, or was never received.
        """
        limit_ns = int(max_age_ms * 1e6)
        entry = self._values.get(key)
        if entry is None:
            source = self._sources.get(key, "any node")
            raise StaleDataError(key, age_ns=None, limit_ns=limit_ns, source=source)
        if not abs(entry.age_ns(now_ns)) <= limit_ns:
            raise StaleDataError(
                key, age_ns=entry.age_ns(now_ns), limit_ns=limit_ns, source=entry.source
            )
        return entry

    def latest(self, key: str) -> Stamped | None:
        """Return the newest value whatever its age, or None: for showing, not for acting."""
        return self._values.get(key)

    def keys(self) -> tuple[str, ...]:
        """Return the names of all values, sorted."""
        return tuple(sorted(self._values))

    def watch(self, keys: Iterable[str], callback: Callable[[Stamped], None]) -> Callable[[], None]:
        """Call back at every new value of some keys; the result ends the watch."""
        names = tuple(keys)
        for name in names:
            self._watchers.setdefault(name, []).append(callback)

        def unwatch() -> None:
            for name in names:
                self._watchers[name].remove(callback)

        return unwatch

    async def next(self, *keys: str) -> Stamped:
        """Wait for the next new value of any of the keys."""
        future: asyncio.Future[Stamped] = asyncio.get_running_loop().create_future()

        def wake(entry: Stamped) -> None:
            if not future.done():
                future.set_result(entry)

        unwatch = self.watch(keys, wake)
        try:
            return await future
        finally:
            unwatch()

    async def changes(
        self, key: str, *, while_running: Finishes | None = None
    ) -> AsyncIterator[Stamped]:
        """Yield each new value of a key, the newest if several came, until a task has ended."""
        seen = self._values.get(key)
        wake = asyncio.Event()
        unwatch = self.watch((key,), lambda _: wake.set())
        if while_running is not None:
            while_running.add_done_callback(lambda _: wake.set())
        try:
            while while_running is None or not while_running.done():
                await wake.wait()
                wake.clear()
                newest = self._values.get(key)
                if newest is not None and newest is not seen:
                    seen = newest
                    yield newest
        finally:
            unwatch()

    def _put_objects(self, message: ObjectPoses, received: Received[Any]) -> tuple[str, ...]:
        changed = []
        for i, name in enumerate(message.names):
            self._sources[name] = received.stamp.source
            if not message.confidence[i] >= self._min_confidence:
                continue
            entry = Stamped(
                key=name,
                value=ObjectPose(
                    name=name,
                    world_from_object=np.array(message.world_from_object[i]),
                    confidence=float(message.confidence[i]),
                ),
                observed_ns=int(message.observed_ns[i]),
                received_ns=received.received_ns,
                source=received.stamp.source,
                basis=received.basis,
            )
            if self._store(entry):
                changed.append(name)
        return tuple(changed)

    def _store(self, entry: Stamped) -> bool:
        old = self._values.get(entry.key)
        if old is None and len(self._values) >= MAX_KEYS:
            raise MessageError(
                f"the World holds {MAX_KEYS} keys already; {entry.key!r:.60} from "
                f"{entry.source!r} is one too many. Reuse keys."
            )
        if old is not None and old.source == entry.source and entry.observed_ns <= old.observed_ns:
            return False  # a tracker repeats what it saw before: nothing new was observed
        self._values[entry.key] = entry
        for callback in tuple(self._watchers.get(entry.key, ())):
            callback(entry)
        return True
