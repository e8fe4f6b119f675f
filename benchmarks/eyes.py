"""A node between tracker and readers that an experiment blinds, like an occlusion or a crash."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from interlock.messages import ObjectPoses, Output
from interlock.nodes._node import Context, Node

if TYPE_CHECKING:
    from collections.abc import Iterable

    from interlock.messages import Received


class EyesNode(Node):
    """Passes poses on; of a hidden object only the last sighting, with its old time.

    Attributes:
        hidden: Objects that can't be seen.
        dead: True while nothing is sent at all.
    """

    inputs: ClassVar = {"objects": ObjectPoses}
    outputs: ClassVar = {"objects": ObjectPoses}

    def __init__(self, settings: Node.Settings, context: Context) -> None:
        super().__init__(settings, context)
        self.hidden: set[str] = set()
        self.dead = False
        self._last: dict[str, tuple[np.ndarray, float, int]] = {}

    def on_objects(self, received: Received[ObjectPoses], now_ns: int) -> Iterable[Output]:
        """Pass on what can be seen."""
        if self.dead:
            return
        message = received.message
        for i, name in enumerate(message.names):
            if name not in self.hidden:
                self._last[name] = (
                    message.world_from_object[i],
                    float(message.confidence[i]),
                    int(message.observed_ns[i]),
                )
        names = tuple(self._last)
        if not names:
            return
        poses = ObjectPoses(
            names=names,
            world_from_object=np.array([self._last[n][0] for n in names]),
            confidence=np.array([self._last[n][1] for n in names]),
            observed_ns=np.array([self._last[n][2] for n in names], np.int64),
        )
        yield Output(output="objects", message=poses, basis=(received.basis,))


NODE = EyesNode
