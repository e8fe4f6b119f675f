"""Tracker node: where the objects are, seen by a camera or known from the simulator.

Inputs:   image (rgb8) and depth (32FC1) of one camera, or state (RobotState) for ``SOURCE: truth``;
          tick.
Outputs:  objects (ObjectPoses), event (Event).
"""

from __future__ import annotations

import dataclasses
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from interlock.messages import Event, Image, ObjectPoses, Output, RobotState, SettingsError, owned
from interlock.nodes._node import Context, Node
from interlock.nodes._scene import scene
from interlock.operators.object_memory import ObjectMemory
from interlock.operators.tracking import Target, find
from interlock.robots.world import SimWorld

if TYPE_CHECKING:
    from collections.abc import Iterable

    from interlock.messages import Received
    from interlock.robots.scene import SceneObject


class TrackerNode(Node):
    """Remembers where it last saw every object of the scene."""

    @dataclass(frozen=True, kw_only=True)
    class Settings:
        """What the dataflow may set.

        Attributes:
            source: ``camera`` finds objects in pictures; ``truth`` reads them from the simulator.
            scene: Scene whose objects are tracked.
            noise_mm: Standard deviation added to each coordinate, in mm.
            dropout: Chance that a sighting is lost, 0 to 1.
            min_confidence: A sighting below this is not believed, 0 to 1.
        """

        source: Literal["camera", "truth"] = "camera"
        scene: str = "tabletop"
        noise_mm: float = 0.0
        dropout: float = 0.0
        min_confidence: float = 0.15

        def __post_init__(self) -> None:
            if not self.noise_mm >= 0 or not 0 <= self.dropout <= 1:
                raise SettingsError("noise_mm must be 0 or more, dropout from 0 to 1")

    inputs: ClassVar = {"image": Image, "depth": Image, "state": RobotState}
    outputs: ClassVar = {"objects": ObjectPoses, "event": Event}
    slow: ClassVar = True

    def __init__(self, settings: Settings, context: Context) -> None:
        super().__init__(settings, context)
        built = scene(settings.scene, context)
        seed = zlib.crc32(f"{context.seed} {context.node_id}".encode())
        self._memory = ObjectMemory(
            noise_m=settings.noise_mm / 1e3, dropout=settings.dropout, seed=seed
        )
        self._targets = [target_of(item) for item in built.objects]
        self._world = SimWorld(built) if settings.source == "truth" else None
        self._image: Received[Image] | None = None
        self._told_dead = False

    def on_state(self, received: Received[RobotState], now_ns: int) -> Iterable[Output]:
        """Read the true poses from the simulator's state."""
        physics = received.message.physics
        if self._world is None or not physics.size:
            return
        if physics.size != self._world.state_size:
            self.failed = (
                f"the state has {physics.size} numbers, scene {self.settings.scene!r} has "
                f"{self._world.state_size}: give tracker and simulator the same SCENE"
            )
            return
        self._world.write_state(physics)
        observed_ns = received.stamp.observed_ns
        for name, pose in self._world.object_poses().items():
            self._memory.see(name, pose, 1.0, observed_ns)
        yield from self._tell(received, observed_ns)

    def on_image(self, received: Received[Image], now_ns: int) -> Iterable[Output]:
        """Keep the picture until its depth arrives."""
        if self._world is None:
            self._image = dataclasses.replace(received, message=owned(received.message))
        return ()

    def on_depth(self, received: Received[Image], now_ns: int) -> Iterable[Output]:
        """Look for the objects in a colour and a depth picture of the same instant."""
        image, observed_ns = self._image, received.stamp.observed_ns
        if self._world is not None or image is None or image.stamp.observed_ns != observed_ns:
            return
        for sighting in find(image.message, received.message, self._targets):
            if sighting.confidence >= self.settings.min_confidence:
                self._memory.see(
                    sighting.name, sighting.world_from_object, sighting.confidence, observed_ns
                )
        yield from self._tell(received, observed_ns, image)

    def _tell(
        self,
        received: Received[RobotState] | Received[Image],
        observed_ns: int,
        image: Received[Image] | None = None,
    ) -> Iterable[Output]:
        message = self._memory.message()
        if message is None:
            return
        basis = (received.basis,) if image is None else (image.basis, received.basis)
        yield Output(output="objects", message=message, basis=basis, observed_ns=observed_ns)

    def on_closed(self, input_id: str, reason: str, now_ns: int) -> Iterable[Output]:
        """Say once that nothing new will be seen; readers see the ages grow."""
        if reason != "ended" and not self._told_dead:
            self._told_dead = True
            text = f"the tracker sees nothing any more: {input_id} {reason}"
            yield Output(output="event", message=Event(kind="error", text=text))


def target_of(item: SceneObject) -> Target:
    """Return what the tracker looks for, for an object of a scene."""
    heights = {"cylinder": item.size[-1], "box": item.size[-1], "sphere": item.size[0]}
    return Target(
        name=item.name,
        rgb=item.rgb,
        radius_m=min(item.size[:2]) if item.shape == "box" else item.size[0],
        half_height_m=heights[item.shape],
        round=item.shape != "box",
    )


NODE = TrackerNode


def main() -> None:
    """Run under dora."""
    from interlock.nodes._dora import run

    run(NODE)


if __name__ == "__main__":
    main()
