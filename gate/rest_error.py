"""How far the arm comes to rest from where it was predicted to, and what margin that asks for."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from interlock.gate.samples import end_ns

if TYPE_CHECKING:
    from interlock.gate.chain import Chain
    from interlock.gate.robot import RobotModel
    from interlock.messages.robot import RobotState

_REMEMBERED = 200
#: A margin from measurements is never more than this, in m: beyond it the robot is broken.
MOST_M = 0.02
#: So many rests are measured before they count.
_ENOUGH = 5


class RestErrors:
    """Compares each predicted rest with the one that was measured.

    Attributes:
        errors_m: Distances between predicted and measured tool position at rest, newest last.
    """

    def __init__(self, robot: RobotModel) -> None:
        self._robot = robot
        self._measured = -1
        self.errors_m: deque[float] = deque(maxlen=_REMEMBERED)

    def observe(self, chain: Chain, state: RobotState, observed_ns: int) -> None:
        """Take a measured state; the first one at rest after a motion's end is compared."""
        motion = chain.motion_at(observed_ns)
        if motion is None or motion is not chain.newest or motion.number == self._measured:
            return
        if state.executing != motion.number or observed_ns < end_ns(motion) or not state.at_rest:
            return
        self._measured = motion.number
        predicted = self._robot.forward(motion.position[-1])[:3]
        measured = self._robot.forward(state.position)[:3]
        self.errors_m.append(float(np.linalg.norm(predicted - measured)))

    @property
    def margin_m(self) -> float:
        """What to add to every margin: the 99th percentile of the errors, in m."""
        if len(self.errors_m) < _ENOUGH:
            return 0.0
        return min(float(np.percentile(self.errors_m, 99)), MOST_M)
