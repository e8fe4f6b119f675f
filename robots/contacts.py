"""Contact forces of the robot, measured in every physics step.

Read from MuJoCo's contact sensors: in C, of fixed size, without a walk through the contacts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.messages.errors import nearest
from interlock.robots.geometry import RobotError
from interlock.robots.scene_model import contact_targets

if TYPE_CHECKING:
    from interlock.robots.scene_settings import SceneSettings

# Each pad must press at least this much, in N, for an object to count as held.
HELD_FORCE_N = 0.5
_FIELDS = 4  # found, then the net force x, y, z


class ContactForces:
    """Net force of the whole robot on each thing, and of each finger on each object.

    Attributes:
        targets: Names of what is measured, e.g. ``"table"``, ``"person_hand"``, ``"cup_red"``.
    """

    def __init__(self, settings: SceneSettings, data: Any) -> None:
        self.targets = tuple(contact_targets(settings))
        self._objects = tuple(item.name for item in settings.objects)
        self._rows = data.sensordata.reshape(-1, _FIELDS)
        self._force = self._rows[:, 1:]
        self._square = np.zeros(len(self._rows))
        self._peak = np.zeros(len(self._rows))

    def note(self) -> None:
        """Take the forces of the last physics step into the peaks; allocates nothing."""
        np.einsum("ij,ij->i", self._force, self._force, out=self._square)
        np.maximum(self._peak, self._square, out=self._peak)

    def clear(self) -> None:
        """Forget the peaks."""
        self._peak[:] = 0.0

    def take_peaks_n(self) -> dict[str, float]:
        """Return the largest force on each target since the last call, in N, and forget it."""
        peaks = np.sqrt(self._peak[: len(self.targets)]).tolist()
        self.clear()
        return dict(zip(self.targets, peaks, strict=True))

    def now_n(self) -> dict[str, float]:
        """Return the force on each target in the last step, in N."""
        norms = np.linalg.norm(self._force[: len(self.targets)], axis=1).tolist()
        return dict(zip(self.targets, norms, strict=True))

    def fingers_n(self, name: str) -> tuple[float, float]:
        """Return the force of the left and the right finger on an object, in N.

        Raises:
            RobotError: If there is no such object.
        """
        if name not in self._objects:
            raise RobotError(f"no object {name!r} in this scene; {nearest(name, self._objects)}")
        row = len(self.targets) + 2 * self._objects.index(name)
        left, right = np.linalg.norm(self._force[row : row + 2], axis=1).tolist()
        return left, right

    def held(self) -> tuple[str, ...]:
        """Return the objects that both fingers press on."""
        return tuple(n for n in self._objects if min(self.fingers_n(n)) >= HELD_FORCE_N)
