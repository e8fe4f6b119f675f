"""Where each object was last seen, with the noise and dropouts that an experiment asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interlock.messages import ObjectPoses

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class ObjectMemory:
    """Keeps the newest sighting of every object.

    Args:
        noise_m: Standard deviation added to each coordinate, in m.
        dropout: Chance that a sighting is lost, 0 to 1.
        seed: Seed of noise and dropouts.
    """

    def __init__(self, *, noise_m: float = 0.0, dropout: float = 0.0, seed: int = 0) -> None:
        self._noise_m = noise_m
        self._dropout = dropout
        self._rng = np.random.default_rng(seed)
        self._seen: dict[str, tuple[Floats, float, int]] = {}

    def see(self, name: str, world_from_object: Floats, confidence: float, now_ns: int) -> None:
        """Remember a sighting.

        Args:
            name: Name of the object.
            world_from_object: Pose, shape (7,): m, quaternion w, x, y, z.
            confidence: 0 to 1.
            now_ns: When the world was like this, in ns.
        """
        # Drawn in any case, so that one dropout does not shift the noise of all that follows.
        lost = self._rng.random() < self._dropout
        noise = self._rng.normal(0.0, 1.0, 3) * self._noise_m
        if lost:
            return
        pose = np.array(world_from_object, np.float64)
        pose[:3] += noise
        self._seen[name] = (pose, confidence, now_ns)

    def message(self) -> ObjectPoses | None:
        """Return all that is remembered; None when nothing was seen yet."""
        if not self._seen:
            return None
        values = list(self._seen.values())
        return ObjectPoses(
            names=tuple(self._seen),
            world_from_object=np.stack([pose for pose, _, _ in values]),
            confidence=np.array([confidence for _, confidence, _ in values]),
            observed_ns=np.array([observed for _, _, observed in values], np.int64),
        )
