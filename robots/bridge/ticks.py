"""When the robot steps: as soon as every action is there, or at the control rate."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from interlock.robots.bridge.faults import BridgeError, WireError, new_id

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from interlock.robots.bridge.robot_thread import RobotThread
    from interlock.robots.bridge.settings import Pace
    from interlock.robots.bridge.slots import Client, Slot, SlotTable
    from interlock.robots.bridge.stepper import Outcome, Stepper

    Action = NDArray[np.float32]

_log = logging.getLogger(__name__)


class Ticks:
    """Takes actions, steps the robot on its thread and answers each client.

    Attributes:
        in_flight: True while the robot steps.
        held_back: True while a reset of every slot is under way; nothing steps.
        not_before_ns: A batch does not step earlier unless every slot is claimed.
        count: Steps sent to the robot so far.
    """

    def __init__(
        self,
        table: SlotTable,
        stepper: Stepper,
        thread: RobotThread,
        *,
        independent: bool,
        pace: Pace,
        clock: Callable[[], int],
    ) -> None:
        self._table = table
        self._stepper = stepper
        self._thread = thread
        self._independent = independent
        self._lockstep = pace == "lockstep"
        self._clock = clock
        self.in_flight = False
        self.held_back = False
        self.not_before_ns = 0
        self.count = 0

    def submit(self, slot: Slot, action: Action) -> None:
        """Take an action from the client of a slot."""
        if slot.terminated:
            if slot.client is not None:
                slot.client.deliver(self._stepper.last(slot.index))
            return
        slot.superseded += slot.pending is not None
        slot.pending = action
        slot.waiting = False
        if self._lockstep:
            self.pump()

    def tick(self) -> None:
        """Step every started episode, holding those without an action (realtime)."""
        if self.in_flight or self.held_back:
            return
        actions: dict[int, Action | None] = {}
        for slot in self._table:
            started = slot.steps or slot.pending is not None
            if slot.token is None or slot.terminated or not started:
                continue
            actions[slot.index] = slot.pending
        if actions:
            self._send(actions)

    def pump(self) -> None:
        """Step what is ready, unless the robot is busy (lockstep)."""
        if self.in_flight or self.held_back or not self._lockstep:
            return
        ready = {s.index: s.pending for s in self._table if s.pending is not None}
        if not ready:
            return
        if not self._independent and self._incomplete():
            return
        self._send(ready)

    def _incomplete(self) -> bool:
        """Return whether a batch has to wait: for an action, or for more claims."""
        if any(slot.blocks and slot.pending is None for slot in self._table):
            return True
        gathering = any(slot.token is None for slot in self._table)
        return gathering and self._clock() < self.not_before_ns

    def _send(self, actions: Mapping[int, Action | None]) -> None:
        notes = {}
        for index in actions:
            slot = self._table.slots[index]
            notes[index] = (slot.superseded, slot.held)
            slot.busy, slot.pending, slot.superseded = True, None, 0
        self.in_flight = True
        self.count += 1
        slots = self._table.slots
        run = [(slots[index], action, slots[index].client) for index, action in actions.items()]
        self._thread.post(
            lambda result, error: self._stepped(run, result, error),
            self._stepper.step,
            actions,
            notes,
            is_step=True,
        )

    def _stepped(
        self,
        run: list[tuple[Slot, Action | None, Client | None]],
        frames: Mapping[int, Outcome] | None,
        error: BaseException | None,
    ) -> None:
        self.in_flight = False
        now_ns = self._clock()
        for slot, action, asker in run:
            self._table.slots[slot.index].busy = slot.busy = False
            outcome = error if frames is None else frames[slot.index]
            if isinstance(outcome, BaseException):
                self._fault(slot, outcome)
            elif outcome is not None:
                self._answer(slot, action, outcome, now_ns, asker)
        self.pump()

    def _answer(
        self,
        slot: Slot,
        action: Action | None,
        outcome: tuple[bytes, bool],
        now_ns: int,
        asker: Client | None,
    ) -> None:
        frame, slot.terminated = outcome
        slot.steps += 1
        if action is None and not slot.terminated:
            slot.held += 1
            return
        slot.held = 0
        # A client that came back meanwhile gets what it sees on its claim, and nothing twice.
        if slot.client is not None and slot.client is asker:
            slot.waiting, slot.since_ns = slot.pending is None, now_ns
            slot.client.deliver(frame)

    def _fault(self, slot: Slot, error: BaseException) -> None:
        if slot.client is None:
            return
        slot.client.fail(robot_fault(error, slot.index))


def robot_fault(error: BaseException, slot: int) -> WireError:
    """Log what the robot raised and return the short form its client may see."""
    if isinstance(error, WireError):
        return error
    id = new_id()
    _log.error("%s: the robot of slot %d failed", id, slot, exc_info=error)
    message = (
        str(error)
        if isinstance(error, BridgeError)
        else f"the robot failed ({type(error).__name__})"
    )
    return WireError("robot_fault", f"{message}; the log of the bridge has the rest", id=id)
