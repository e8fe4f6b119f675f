"""What a remote client may see of a dataflow: its contract, and the newest of everything in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.messages import Image, SettingsError, owned
from interlock.nodes._bridge_door import Sight
from interlock.robots.bridge.arm_contract import (
    arm_contract,
    object_features,
    object_key,
    state_features,
)

if TYPE_CHECKING:
    from interlock.messages import Basis, ObjectPoses, Received, RobotState
    from interlock.messages.contract import Contract
    from interlock.nodes._node import Context

_SEGMENTATION = "32SC1"


class BridgeView:
    """Collects states, pictures and object poses.

    Args:
        context: The node; its inputs name the cameras: ``image_front`` is ``observation/front``.
        image_max_age_ms: There is nothing to see while a picture is older than this.
    """

    def __init__(self, context: Context, *, image_max_age_ms: float) -> None:
        self._cameras = _cameras(context)
        self._max_age_ns = round(image_max_age_ms * 1e6)
        self._state: Received[RobotState] | None = None
        self._images: dict[str, tuple[Image, int, Basis]] = {}
        self._objects: dict[str, Any] = {}
        self._objects_basis: tuple[Basis, ...] = ()
        self._names: tuple[str, ...] | None = None
        self._wants_objects = "objects" in _inputs(context).values()

    @property
    def complete(self) -> bool:
        """True when everything in the dataflow has been seen once."""
        known = set(self._images) >= set(self._cameras.values())
        objects = bool(self._objects) or not self._wants_objects
        return self._state is not None and known and objects

    def contract(self, rate_hz: float) -> Contract:
        """Return the contract of what has been seen; it stays."""
        cameras = {key: image for key, (image, _, _) in sorted(self._images.items())}
        self._names = tuple(self._objects)
        return arm_contract(rate_hz=rate_hz, cameras=cameras, objects=self._names)

    def on_state(self, received: Received[RobotState]) -> None:
        """Keep the newest state."""
        self._state = received

    def on_image(self, received: Received[Image]) -> None:
        """Keep a copy of the newest picture of a camera: the buffer goes back to its sender."""
        image = received.message
        if image.encoding == _SEGMENTATION:
            raise SettingsError("segmentation is no picture for a client; connect image or depth")
        edge = f"{received.stamp.source}/{received.output}"
        key = self._cameras.get(edge, f"observation/{image.camera or 'image'}")
        self._images[key] = (owned(image), received.stamp.observed_ns, received.basis)

    def on_objects(self, received: Received[ObjectPoses]) -> None:
        """Keep where objects are; one that is no longer tracked has confidence 0."""
        lost = {name: _lost(row) for name, row in self._objects.items()}
        seen = object_features(received.message)
        self._objects_basis = (received.basis,)
        self._objects = lost | {n: seen[object_key(n)] for n in received.message.names}

    def sight(self) -> Sight | None:
        """Return what there is to see; None when a picture is missing or too old."""
        if self._state is None or self._names is None:
            return None
        observed_ns = self._state.stamp.observed_ns
        times, basis = [observed_ns], [self._state.basis]
        features: dict[str, Any] = dict(state_features(self._state.message))
        for key, (image, image_ns, image_basis) in self._images.items():
            if not observed_ns - image_ns <= self._max_age_ns:
                return None
            features[key] = image.pixels
            times.append(image_ns)
            basis.append(image_basis)
        features.update({object_key(name): self._objects[name] for name in self._names})
        return Sight(
            observed_ns=min(times),
            state_ns=observed_ns,
            state=owned(self._state.message),
            features=features,
            basis=(*basis, *self._objects_basis),
        )


def _lost(row: Any) -> Any:
    gone = np.array(row, np.float32)
    gone[-1] = 0.0
    return gone


def _inputs(context: Context) -> dict[str, str]:
    """Return ``source/output`` -> input id, as the dataflow wires the node."""
    nodes = context.dataflow.get("nodes") or ()
    own: dict[str, Any] = next((n for n in nodes if n.get("id") == context.node_id), {})
    specs = (own.get("inputs") or {}).items()
    return {str(s["source"] if isinstance(s, dict) else s): name for name, s in specs}


def _cameras(context: Context) -> dict[str, str]:
    """Return the key on the wire of each camera by the edge that its pictures come on."""
    return {
        edge: f"observation/{name.removeprefix('image_')}"
        for edge, name in _inputs(context).items()
        if name == "image" or name.startswith("image_")
    }
