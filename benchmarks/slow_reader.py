"""A node that is busy 200 ms per picture; it writes how old each was when used, and its memory."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from interlock.messages import Event, Image
from interlock.nodes._node import Node

if TYPE_CHECKING:
    from collections.abc import Iterable

    from interlock.messages import Output, Received


class SlowReader(Node):
    """Reads pictures through the latest-value table until its time is over."""

    @dataclass(frozen=True, kw_only=True)
    class Settings:
        """What the dataflow may set.

        Attributes:
            busy_s: How long each step takes, in s.
            seconds: When to end, in s.
            result: File for the ages in ns and the memory in bytes.
        """

        result: str
        busy_s: float = 0.2
        seconds: float = 20.0

    inputs: ClassVar = {"image": Image}
    outputs: ClassVar = {"event": Event}
    slow: ClassVar = True

    def on_start(self, now_ns: int) -> Iterable[Output]:
        """Start the clock."""
        self._began_ns = now_ns
        self._ages: list[int] = []
        self._memory: list[int] = []
        return ()

    def on_image(self, received: Received[Image], now_ns: int) -> Iterable[Output]:
        """Use a picture."""
        self._ages.append(received.age_ns(now_ns))
        resident = int(Path("/proc/self/statm").read_text().split()[1])
        self._memory.append(resident * os.sysconf("SC_PAGE_SIZE"))
        time.sleep(self.settings.busy_s)
        if now_ns - self._began_ns > self.settings.seconds * 1e9:
            found = {"ages_ns": self._ages, "memory": self._memory}
            Path(self.settings.result).write_text(json.dumps(found))
            self.finished = "the time is over"
        return ()


NODE = SlowReader

if __name__ == "__main__":
    from interlock.nodes._dora import run

    run(NODE)
