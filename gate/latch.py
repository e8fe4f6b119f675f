"""The operator's stop: it stays until the operator resets it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.gate.decision import Reason
from interlock.messages.task import Event

if TYPE_CHECKING:
    from interlock.messages.task import Reset, Stop


class Latch:
    """Holds the stop that was pressed.

    Attributes:
        pressed: The stop; None while it is released.
    """

    def __init__(self) -> None:
        self.pressed: Stop | None = None

    def press(self, stop: Stop) -> list[Event]:
        """Press it; return what to tell: the first time only."""
        first = self.pressed is None
        self.pressed = stop
        text = f"operator stop by {stop.by or 'somebody'} (category {stop.category})"
        return [Event(kind="warning", text=text)] if first else []

    def release(self, reset: Reset) -> list[Event]:
        """Release it; return what to tell, or nothing if it was not pressed."""
        if self.pressed is None:
            return []
        self.pressed = None
        return [Event(kind="warning", text=f"operator stop released by {reset.by or 'somebody'}")]

    @property
    def reason(self) -> Reason | None:
        """Why nothing may move; None while it is released."""
        if self.pressed is None:
            return None
        why = f": {self.pressed.reason}" if self.pressed.reason else ""
        return Reason(
            code="operator_stop",
            sentence=f"The operator has stopped the robot{why}",
            way_out="Wait until the operator resets the stop, then start a new task.",
        )

    @property
    def sentence(self) -> str:
        """Why nothing may move, in words; empty while it is released."""
        return "" if self.reason is None else self.reason.sentence
