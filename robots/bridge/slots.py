"""Who holds which slot: tokens, connections, and what has waited too long. Pure bookkeeping."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from interlock.robots.bridge.faults import WireError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from interlock.robots.bridge.settings import BridgeSettings

_GRADES_KEPT = 1024


class Client(Protocol):
    """The connection of a slot, as the table and the engine see it."""

    def deliver(self, frame: bytes) -> None:
        """Send an observation."""

    def fail(self, error: WireError) -> None:
        """Tell the peer and close."""


@dataclass(slots=True, kw_only=True)
class Slot:
    """One robot copy and its episode.

    Attributes:
        index: Which copy.
        token: Token of the episode; None while the slot is free.
        client: The live connection, if there is one.
        dialed: True once a client claimed the episode.
        since_ns: When the present wait began (dial, redial or action).
        waiting: True while the slot has an observation out and owes an action.
        pending: The action that has not been executed yet.
        superseded: Actions replaced before they were executed, since the last observation.
        held: Steps held for want of an action, since the last observation.
        steps: Actions executed in this episode.
        terminated: True once the episode ended; it is not stepped again.
        busy: True while a step of this slot is on the robot's thread.
    """

    index: int
    token: str | None = None
    client: Client | None = None
    dialed: bool = False
    since_ns: int = 0
    waiting: bool = False
    pending: NDArray[np.float32] | None = None
    superseded: int = 0
    held: int = 0
    steps: int = 0
    terminated: bool = False
    busy: bool = False

    @property
    def blocks(self) -> bool:
        """True if a batch has to wait for this slot before it steps."""
        going_on = self.token is not None and not self.terminated
        return going_on and (self.client is not None or not self.dialed)


@dataclass(slots=True)
class SlotTable:
    """The slots of one bridge and the grades of episodes that ended lately."""

    count: int
    slots: list[Slot] = field(default_factory=list)
    grades: OrderedDict[str, dict[str, Any]] = field(default_factory=OrderedDict)
    expired: OrderedDict[str, str] = field(default_factory=OrderedDict)

    def __post_init__(self) -> None:
        """Make the slots."""
        self.slots = [Slot(index=i) for i in range(self.count)]

    def __iter__(self) -> Iterator[Slot]:
        """Iterate over the slots in order."""
        return iter(self.slots)

    def free(self) -> list[Slot]:
        """Return the slots that nobody holds and that are not being stepped."""
        return [slot for slot in self.slots if slot.token is None and not slot.busy]

    def claimed(self) -> list[Slot]:
        """Return the slots with an episode."""
        return [slot for slot in self.slots if slot.token is not None]

    def claim(self, slot: Slot, token: str, now_ns: int) -> None:
        """Give a free slot to an episode; its client has yet to dial."""
        self.slots[slot.index] = Slot(index=slot.index, token=token, since_ns=now_ns)

    def find(self, token: str) -> Slot | None:
        """Return the slot of an episode that runs."""
        return next((slot for slot in self.slots if slot.token == token), None)

    def to_dial(self, token: object) -> Slot:
        """Return the slot a claim means.

        Raises:
            WireError: Unknown or ended episode, no single claimed slot, or a live connection.
        """
        slot = self._named(token) if token is not None else self._only()
        if slot.client is not None:
            raise WireError(
                "slot_busy",
                f"slot {slot.index} already has a live connection; close that one first",
            )
        return slot

    def _named(self, token: object) -> Slot:
        if not isinstance(token, str):
            raise WireError("bad_claim", f"claim must be text or nil, got {type(token).__name__}")
        slot = self.find(token)
        if slot is not None:
            return slot
        if token in self.grades:
            why = self.expired.get(token, "the episode was graded")
            raise WireError("episode_over", f"{why}; reset for a new token")
        raise WireError("unknown_token", f"unknown episode token {token[:40]!r}; reset first")

    def _only(self) -> Slot:
        claimed = self.claimed()
        if len(claimed) != 1:
            raise WireError(
                "bad_claim",
                "a claim without token needs exactly one claimed slot, "
                f"found {len(claimed)}; pass the token from reset()",
            )
        return claimed[0]

    def release(self, slot: Slot, grade: dict[str, Any], *, why: str | None = None) -> None:
        """Free a slot and keep its grade, so that asking twice gives the same answer."""
        token = slot.token or ""
        self.grades[token] = grade
        if why is not None:
            self.expired[token] = why
        for kept in (self.grades, self.expired):
            while len(kept) > _GRADES_KEPT:
                kept.popitem(last=False)
        self.slots[slot.index] = Slot(index=slot.index, busy=slot.busy)

    def overdue(self, settings: BridgeSettings, now_ns: int) -> list[tuple[Slot, str]]:
        """Return the slots that waited too long, each with the sentence that says for what."""
        found = []
        for slot in self.claimed():
            limit_s, what = _limit(slot, settings)
            if limit_s is not None and now_ns - slot.since_ns > limit_s * 1e9:
                found.append((slot, f"{what} within {limit_s:g} s"))
        return found


def _limit(slot: Slot, settings: BridgeSettings) -> tuple[float | None, str]:
    if slot.client is None:
        if not slot.dialed:
            return settings.dial_timeout_s, "no client claimed the slot"
        return settings.redial_timeout_s, "the client did not come back"
    if not slot.waiting or slot.terminated:
        return None, ""
    if slot.steps == 0:
        return settings.first_action_timeout_s, "no first action came"
    return settings.action_timeout_s, "no action came"
