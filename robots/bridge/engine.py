"""Episodes: who claims which slot, who drives it, and how an episode ends.

All state lives on the event loop; the robot's thread only receives actions and returns frames.
"""

from __future__ import annotations

import logging
import secrets
import time
from typing import TYPE_CHECKING, Any

from interlock.robots.bridge.faults import BridgeError, BusyError, WireError
from interlock.robots.bridge.robot_thread import RobotThread
from interlock.robots.bridge.slots import Client, Slot, SlotTable
from interlock.robots.bridge.stepper import Stepper
from interlock.robots.bridge.ticks import Ticks, robot_fault

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from interlock.robots.bridge.admission import Admission
    from interlock.robots.bridge.settings import BridgeSettings
    from interlock.robots.bridge.sims import Sims

_log = logging.getLogger(__name__)


class Engine:
    """Runs episodes of some robots for clients that come and go."""

    def __init__(
        self,
        sims: Sims,
        admission: Admission,
        settings: BridgeSettings,
        *,
        thread: RobotThread | None = None,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.sims = sims
        self.settings = settings
        self.thread = thread or RobotThread()
        self.table = SlotTable(sims.slots)
        self._stepper = Stepper(sims, admission, clock, lockstep=settings.pace == "lockstep")
        self._clock = clock
        self.ticks = Ticks(
            self.table,
            self._stepper,
            self.thread,
            independent=sims.independent,
            pace=settings.pace,
            clock=clock,
        )
        #: Task, prompt and tick count of the reset that all slots of a batch share.
        self._wave: tuple[Mapping[str, Any], str, int] | None = None

    async def reset(self, task: Mapping[str, Any]) -> dict[str, Any]:
        """Start an episode on a free slot and return its prompt and token.

        Raises:
            BusyError: If no slot can start now.
            BridgeError: If the robot refuses the task.
        """
        free = self.table.free()
        if self.ticks.held_back or not free:
            raise BusyError(f"all {self.table.count} slots are claimed; retry when one is graded")
        if self.sims.resets_slots:
            return await self._start([free[0]], free[0], task)
        if len(free) == self.table.count and not self.ticks.in_flight:
            self._wave = None
            return await self._start(free, free[0], task)
        return await self._join_wave(free, task)

    async def _start(
        self, slots: list[Slot], mine: Slot, task: Mapping[str, Any]
    ) -> dict[str, Any]:
        token = f"slot-{mine.index}-{secrets.token_hex(8)}"
        self.ticks.held_back = not self.sims.resets_slots
        self.table.claim(mine, token, self._clock())
        try:
            await self.thread.call(self._stepper.begin, mine.index, token)
            indices = [slot.index for slot in slots]
            prompt = await self.thread.call(self._stepper.reset, indices, dict(task))
        except BaseException:
            self.table.slots[mine.index] = Slot(index=mine.index)
            self.thread.post(lambda *_: None, self._stepper.leave, mine.index)
            raise
        finally:
            self.ticks.held_back = False
        if not self.sims.resets_slots:
            self._wave = (dict(task), prompt, self.ticks.count)
            self.ticks.not_before_ns = self._clock() + int(self.settings.gather_s * 1e9)
        self.table.slots[mine.index].since_ns = self._clock()
        return {"prompt": prompt, "token": token}

    async def _join_wave(self, free: list[Slot], task: Mapping[str, Any]) -> dict[str, Any]:
        if self._wave is None or self._wave[2] != self.ticks.count:
            raise BusyError("the batch is running and resets as a whole; retry when it has ended")
        if dict(task) != self._wave[0]:
            raise BridgeError(
                f"slots share one reset with {self._wave[0]!r}; this claim asks for {dict(task)!r}"
            )
        mine = free[0]
        token = f"slot-{mine.index}-{secrets.token_hex(8)}"
        self.table.claim(mine, token, self._clock())
        prompt = self._wave[1]
        try:
            await self.thread.call(self._stepper.begin, mine.index, token)
        except BaseException:
            self.table.slots[mine.index] = Slot(index=mine.index)
            raise
        return {"prompt": prompt, "token": token}

    async def result(self, token: object) -> dict[str, Any]:
        """Grade an episode and free its slot; asking again gives the same answer.

        Raises:
            BridgeError: If the token is not text, or names no episode.
        """
        if token is not None and not isinstance(token, str):
            raise BridgeError("result: 'token' must be text when given")
        if token in self.table.grades:
            return self.table.grades[str(token)]
        claimed = self.table.claimed()
        slot = self.table.find(token) if token else claimed[0] if len(claimed) == 1 else None
        if slot is None:
            raise BridgeError(f"result: unknown episode token {str(token)[:40]!r}")
        return await self._finish(slot, WireError("episode_over", "the episode was graded"))

    async def _finish(
        self, slot: Slot, error: WireError, *, why: str | None = None
    ) -> dict[str, Any]:
        token = slot.token
        slot.pending = None
        grade = await self._grade(slot)
        if slot.token == token and self.table.slots[slot.index] is slot:
            client = slot.client
            self.table.release(slot, grade, why=why)
            if client is not None:
                client.fail(error)
            self.ticks.pump()
        return grade

    async def _grade(self, slot: Slot) -> dict[str, Any]:
        """Grade a slot; a robot that fails at it must not keep the slot for ever."""
        try:
            grade: dict[str, Any] = await self.thread.call(self._stepper.end, slot.index)
        except Exception as error:
            fault = robot_fault(error, slot.index)
            failed = f"{fault.id}: {fault.message}"
            return {"score": 0.0, "success": False, "total_reward": 0.0, "error": failed}
        return grade

    async def attach(self, token: object, client: Client) -> Slot:
        """Give a client its slot and push what it sees now.

        Raises:
            WireError: If the claim does not fit.
        """
        if token is None and self.settings.auto_reset and not self.table.claimed():
            token = (await self.reset({}))["token"]
        slot = self.table.to_dial(token)
        slot.client, slot.dialed = client, True
        try:
            frame = await self.thread.call(self._stepper.attach, slot.index, str(slot.token))
        except Exception as error:
            self.detach(slot, client)
            raise robot_fault(error, slot.index) from error
        slot.waiting, slot.since_ns = True, self._clock()
        client.deliver(frame)
        return slot

    def detach(self, slot: Slot, client: Client) -> None:
        """Note that a client went away; its episode waits for it."""
        if slot.client is client:
            slot.client, slot.pending = None, None
            slot.since_ns = self._clock()
            self.thread.post(_told, self._stepper.detach, slot.index, str(slot.token))
            self.ticks.pump()

    async def sweep(self) -> None:
        """End every wait that is over."""
        self.ticks.pump()
        for slot, why in self.table.overdue(self.settings, self._clock()):
            if slot.client is None:
                await self._finish(slot, WireError("episode_over", why), why=why)
            else:
                slot.waiting = False
                slot.client.fail(WireError("action_timeout", f"{why}; claim again to go on"))


def _told(_: Any, error: BaseException | None) -> None:
    if error is not None:
        _log.error("telling the robot of a client that left failed", exc_info=error)
