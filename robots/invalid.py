"""Notice when the physics can no longer be trusted.

MuJoCo prints a warning and resets the state by itself; here its counters are read after every
step, its own reset is off, and the run ends with the step and the degree of freedom.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from interlock.robots.geometry import RobotError
from interlock.robots.physics import mujoco

# Deepest overlap, in m, with which a scene may begin.
DEEPEST_START_M = 0.002
_NAMES = tuple(name.removeprefix("mjWARN_") for name in mujoco.mjtWarning.__members__)[:-1]


class SimulationInvalid(RobotError):  # noqa: N818 - the name users see in results
    """The physics can no longer be trusted; a trial that meets it is not scored.

    Attributes:
        step: Physics step at which it was noticed, from 0 at the reset.
        dof: Joint, actuator or body that was affected.
    """

    def __init__(self, what: str, *, step: int, dof: str) -> None:
        super().__init__(
            f"simulation invalid at step {step}, {dof}: {what}. Reset the world; look at the "
            "commands and the layout just before."
        )
        self.step = step
        self.dof = dof


class WarningWatch:
    """Reads MuJoCo's warning counters of one simulation."""

    def __init__(self, model: Any, data: Any) -> None:
        # Otherwise MuJoCo appends every warning to a MUJOCO_LOG.TXT where the process runs.
        mujoco.set_mju_user_warning(lambda _text: None)
        self._model, self._data = model, data
        self._counts = data.warning.number
        self._none = self._counts.tobytes()

    def check(self, step: int) -> None:
        """Refuse to go on after a warning; cheap when there was none.

        Raises:
            SimulationInvalid: Naming the warning, the step and the degree of freedom.
        """
        if self._counts.tobytes() == self._none:
            return
        kind = int(np.argmax(self._counts > 0))
        name, place = _NAMES[kind], int(self._data.warning.lastinfo[kind])
        raise SimulationInvalid(f"MuJoCo warned {name}", step=step, dof=self._place(name, place))

    def check_start(self) -> None:
        """Refuse a scene whose things begin inside each other.

        Raises:
            SimulationInvalid: Naming both things and how deep they overlap.
        """
        self.check(0)
        for contact in self._data.contact:
            if not contact.dist >= -DEEPEST_START_M:
                first, second = (str(self._model.geom(int(g)).name) for g in contact.geom)
                depth_mm = -contact.dist * 1e3
                raise SimulationInvalid(
                    f"{first} and {second} begin {depth_mm:.1f} mm inside each other",
                    step=0,
                    dof=second,
                )

    def _place(self, name: str, place: int) -> str:
        if name in {"BADQVEL", "BADQACC"}:
            joint = int(self._model.dof_jntid[place])
            return f"joint {self._model.joint(joint).name} (dof {place})"
        if name == "BADCTRL":
            owner = int(np.searchsorted(self._model.actuator_ctrladr, place, side="right")) - 1
            return f"actuator {self._model.actuator(owner).name}"
        return f"index {place}"
