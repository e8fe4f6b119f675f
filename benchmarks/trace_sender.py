"""A node for the trace benchmark: many small messages, or pictures, at a steady rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from interlock.messages import Event, Image, Output
from interlock.nodes._node import Context, Node

if TYPE_CHECKING:
    from collections.abc import Iterable


class SenderNode(Node):
    """Sends what is due at each tick, and ends after a while."""

    @dataclass(frozen=True, kw_only=True)
    class Settings:
        """What to send.

        Attributes:
            small_hz: Rate of small messages, about 200 bytes each.
            image_hz: Rate of pictures on each of two outputs.
            size: Height and width of a picture, in pixels.
            seconds: When to end, in s.
        """

        small_hz: float = 0.0
        image_hz: float = 0.0
        size: int = 224
        seconds: float = 60.0

    outputs: ClassVar = {"small": Event, "left": Image, "right": Image}

    def __init__(self, settings: Settings, context: Context) -> None:
        super().__init__(settings, context)
        self._start_ns: int | None = None
        self._sent = {"small": 0, "images": 0}
        rng = np.random.default_rng(context.seed)
        shape = (settings.size, settings.size, 3)
        # Pictures of a camera are neither flat nor noise: soft blobs and a little sensor noise.
        ramp = np.linspace(0, 200, settings.size)[:, None, None] + np.zeros(shape)
        self._pixels = (ramp + rng.integers(0, 12, shape)).astype(np.uint8)

    def on_tick(self, now_ns: int) -> Iterable[Output]:
        """Send what is due."""
        if self._start_ns is None:
            self._start_ns = now_ns
        elapsed_s = (now_ns - self._start_ns) / 1e9
        if elapsed_s > self.settings.seconds:
            self.finished = "sent all"
            return
        for _ in range(self._due("small", elapsed_s * self.settings.small_hz)):
            yield Output(output="small", message=Event(kind="summary", text="x" * 120))
        for _ in range(self._due("images", elapsed_s * self.settings.image_hz)):
            image = Image(pixels=self._pixels, camera="bench")
            yield Output(output="left", message=image)
            yield Output(output="right", message=image)

    def _due(self, name: str, target: float) -> int:
        count = max(0, int(target) - self._sent[name])
        self._sent[name] += count
        return count


NODE = SenderNode


def main() -> None:
    """Run as a node of a dataflow."""
    from interlock.nodes._dora import run

    run(NODE)


if __name__ == "__main__":
    main()
