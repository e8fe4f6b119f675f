"""An asyncio loop whose time is given to it, so that the same program runs live and in lockstep."""

from __future__ import annotations

import asyncio
from typing import Any

#: Callback rounds in one call before the loop gives the caller a turn: a program that spins
#: with ``await asyncio.sleep(0)`` must not keep its node from its heartbeats and its stop.
MAX_ROUNDS = 500


class _NoSelector:
    """No file is watched: everything comes in through the node."""

    def select(self, timeout: float | None) -> list[Any]:
        """Return at once."""
        return []


class VirtualLoop(asyncio.BaseEventLoop):
    """Runs callbacks and due timers up to a given time, and never blocks.

    Threads may hand results in (``call_soon_threadsafe``); they are seen in the next call.
    """

    _ready: Any
    _scheduled: list[Any]

    def __init__(self, now_ns: int = 0) -> None:
        super().__init__()
        self._now_ns = now_ns
        self._selector = _NoSelector()
        # Timers are set in float seconds: a tick at exactly their time must find them due.
        self._clock_resolution = 1e-6

    @property
    def now_ns(self) -> int:
        """The dataflow's time of the call in progress, in ns."""
        return self._now_ns

    def time(self) -> float:
        """Return the dataflow's time, in s."""
        return self._now_ns / 1e9

    def run_until_idle(self, now_ns: int) -> bool:
        """Run everything that is due at ``now_ns``.

        Returns:
            False if work was left over after ``MAX_ROUNDS`` rounds of callbacks.
        """
        self._now_ns = max(self._now_ns, now_ns)
        for _ in range(MAX_ROUNDS):
            if not self._due():
                return True
            self.stop()
            self.run_forever()
        return not self._due()

    def next_timer_ns(self) -> int | None:
        """Return when the next timer is due, in ns, or None."""
        live = [timer.when() for timer in self._scheduled if not timer.cancelled()]
        return round(min(live) * 1e9) if live else None

    def _due(self) -> bool:
        if self._ready:
            return True
        limit = self.time() + self._clock_resolution
        return bool(self._scheduled) and self._scheduled[0].when() <= limit

    def _process_events(self, event_list: list[Any]) -> None:
        pass

    def _write_to_self(self) -> None:
        pass
