"""What is between the fingers: opened, closed, empty, held, slipped."""

from __future__ import annotations

from dataclasses import dataclass

#: Fingers closer than this hold nothing, in m.
EMPTY_WIDTH_M = 0.004
#: A held object presses each pad with at least this much, in N.
HELD_FORCE_N = 1.0
#: Fingers that close by more than this after the grasp have lost the object, in m.
SLIP_WIDTH_M = 0.006


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """An object between the fingers.

    Attributes:
        name: Its name in the World; empty for an object without one.
        width_m: Distance between the fingers around it, in m.
        below_tool_m: Height of the tool point above what the object stood on, in m.
        offset_m: From the tool point to the object's origin when it was taken: x, y, z in m.
    """

    name: str
    width_m: float
    below_tool_m: float
    offset_m: tuple[float, float, float]
