"""How far ahead a motion must start so that it reaches the driver in time.

A motion that arrives after its start is refused by the driver, which then follows the one it has to
its stop. How long the way takes depends on the host, so the lead grows when the driver reports a
late one and shrinks slowly while none is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from interlock.messages.robot import RobotState

_MS = 1_000_000
#: Codes of the driver's refusals that mean too late.
_LATE = ("late:", "old:")
_GROW, _GROW_NS = 1.5, 5 * _MS
#: Share of the excess that is given up with each state received (20 ms: half in 5 s).
_SHRINK = 0.003


class Lead:
    """The lead of one Gate.

    Args:
        lead_ms: Smallest lead, and the first one, in ms.
        most_ms: Largest lead, in ms.
    """

    def __init__(self, lead_ms: float, most_ms: float) -> None:
        self._least_ns = lead_ms * _MS
        self._most_ns = max(lead_ms, most_ms) * _MS
        self._lead_ns = self._least_ns
        self._refused = 0

    @property
    def ns(self) -> int:
        """The lead now, in ns."""
        return int(self._lead_ns)

    def observe(self, state: RobotState) -> None:
        """Take in how many commands the driver has refused, and why the last one."""
        if state.refused > self._refused and state.refusal.startswith(_LATE):
            self._lead_ns = min(self._most_ns, self._lead_ns * _GROW + _GROW_NS)
        else:
            self._lead_ns -= (self._lead_ns - self._least_ns) * _SHRINK
        self._refused = state.refused
