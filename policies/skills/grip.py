"""What is between the fingers: opened, closed, empty, held, slipped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from interlock.policies.errors import EmptyGraspError

if TYPE_CHECKING:
    from interlock.messages import RobotState

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


def check_closed_on_something(state: RobotState) -> None:
    """Raise EmptyGraspError when nothing is between the closed fingers."""
    if state.gripper_width_m < EMPTY_WIDTH_M or state.gripper_force_n < HELD_FORCE_N:
        raise EmptyGraspError(
            f"the fingers closed to {state.gripper_width_m * 1e3:.1f} mm with "
            f"{max(0.0, state.gripper_force_n):.1f} N on each pad: nothing is between them. "
            "Look where the object is now and grasp again."
        )


def slipped(held: Held, state: RobotState) -> bool:
    """Return True when a held object has left the fingers."""
    return not state.gripper_width_m >= held.width_m - SLIP_WIDTH_M


def slip_text(held: Held, state: RobotState) -> str:
    """Return one sentence about an object that slipped."""
    return (
        f"{held.name or 'the object'} slipped: the fingers went from {held.width_m * 1e3:.1f} to "
        f"{state.gripper_width_m * 1e3:.1f} mm. Look where it is now and grasp it again."
    )
