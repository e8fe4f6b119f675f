"""One tick on the robot's thread: judge, step, look, pack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.messages.arrays_msgpack import pack
from interlock.robots.bridge.faults import BridgeError, WireError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from interlock.robots.bridge.admission import Admission, Judgement
    from interlock.robots.bridge.sims import Sims, View

    Action = NDArray[np.float32]
    #: Actions superseded and steps held since the last observation.
    Notes = tuple[int, int]
    Outcome = tuple[bytes, bool] | Exception


class Stepper:
    """Executes actions on the robots and packs what each slot sees."""

    def __init__(
        self, sims: Sims, admission: Admission, clock: Callable[[], int], *, lockstep: bool
    ) -> None:
        self._sims = sims
        self._admission = admission
        self._clock = clock
        self._last: dict[int, bytes] = {}
        self._seq: dict[int, int] = {}
        self._observed_ns: dict[int, int] = {}
        self._lockstep = lockstep

    def reset(self, slots: Sequence[int], task: Mapping[str, Any]) -> str:
        """Start an episode on these slots and return its prompt."""
        for slot in slots:
            self._seq[slot] = 0
        return self._sims.reset(slots, task)

    def begin(self, slot: int, owner: str) -> None:
        """Give a slot to an owner.

        Raises:
            BridgeError: If admission says no.
        """
        why_not = self._admission.begin(slot, owner=owner, now_ns=self._clock())
        if why_not:
            raise BridgeError(f"the episode may not begin: {why_not}")

    def leave(self, slot: int) -> None:
        """Take a slot from an owner whose episode did not begin."""
        self._admission.end(slot)

    def end(self, slot: int) -> dict[str, Any]:
        """Take a slot from its owner and return the grade of the episode."""
        self._admission.end(slot)
        return self._sims.result(slot)

    def attach(self, slot: int, owner: str) -> bytes:
        """Tell the robot of its client and return the frame of what the slot sees now."""
        self._sims.robot(slot).attached(slot, owner)
        return self.look(slot)

    def detach(self, slot: int, owner: str) -> None:
        """Tell the robot that its client is gone."""
        self._sims.robot(slot).detached(slot, owner)

    def look(self, slot: int) -> bytes:
        """Return the frame of what a slot sees now, without a step."""
        view = self._sims.view(slot)
        meta = {"seq": self._seq.get(slot, 0), "observed_ns": self._seen_at(slot)}
        return self._pack(slot, view, meta)

    def last(self, slot: int) -> bytes:
        """Return the newest frame of a slot once more."""
        return self._last[slot]

    def step(
        self, actions: Mapping[int, Action | None], notes: Mapping[int, Notes]
    ) -> dict[int, Outcome]:
        """Step these slots; None holds. A slot that fails alone fails alone."""
        verdicts: dict[int, Judgement | None] = {}
        chosen: dict[int, Action | None] = {}
        outcomes: dict[int, Outcome] = {}
        for slot, action in actions.items():
            try:
                chosen[slot], verdicts[slot] = self._judge(slot, action)
            except Exception as error:
                outcomes[slot] = error
        if not self._sims.independent:
            if chosen:
                self._sims.step(chosen)
            made = {slot: self._outcome(slot, verdicts[slot], notes[slot]) for slot in chosen}
            return outcomes | made
        for slot, action in chosen.items():
            try:
                self._sims.step({slot: action})
                outcomes[slot] = self._outcome(slot, verdicts[slot], notes[slot])
            except Exception as error:
                outcomes[slot] = error
        return outcomes

    def _judge(self, slot: int, action: Action | None) -> tuple[Action | None, Judgement | None]:
        if action is None:
            return self._sims.hold(slot), None
        now_ns = self._clock()
        seen_ns = now_ns if self._lockstep else self._observed_ns.get(slot, 0)
        judgement = self._admission.admit(action, slot=slot, observed_ns=seen_ns, now_ns=now_ns)
        if judgement.action is None:
            return self._sims.hold(slot), judgement
        try:
            self._sims.check(slot, judgement.action)
        except BridgeError as error:
            raise WireError("bad_action", str(error)) from error
        return judgement.action, judgement

    def _outcome(self, slot: int, verdict: Judgement | None, notes: Notes) -> tuple[bytes, bool]:
        self._seq[slot] = self._seq.get(slot, 0) + 1
        superseded, held = notes
        view = self._sims.view(slot)
        self._sims.credit(slot, view.reward)
        meta: dict[str, Any] = {"seq": self._seq[slot], "observed_ns": self._seen_at(slot)}
        if verdict is not None:
            meta["verdict"] = verdict.to_wire()
        if superseded:
            meta["superseded"] = superseded
        if held:
            meta["held"] = held
        return self._pack(slot, view, meta), view.terminated

    def _seen_at(self, slot: int) -> int:
        told_ns = self._sims.robot(slot).observed_ns(slot)
        return self._clock() if told_ns is None else told_ns

    def _pack(self, slot: int, view: View, meta: Mapping[str, Any]) -> bytes:
        frame: dict[str, Any] = dict(view.data)
        if view.reward is not None:
            frame["reward"] = np.float32(view.reward)
        frame["terminated"] = view.terminated
        frame["meta"] = meta
        self._observed_ns[slot] = meta["observed_ns"]
        packed = self._last[slot] = pack(frame)
        return packed


def read_action(value: object, width: int) -> Action:
    """Return an action as float32 of the right width.

    Raises:
        BridgeError: Not numbers, another shape, NaN or infinite; it names value and limit.
    """
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise BridgeError(
            "actions must be one row of numbers; its rows differ in length"
        ) from error
    if array.dtype.kind not in "iuf":
        raise BridgeError(f"actions must be numbers, got {array.dtype}")
    if array.shape != (width,):
        hint = "; send one action per frame" if array.ndim > 1 else ""
        raise BridgeError(f"actions have shape {list(array.shape)}, expected [{width}]{hint}")
    with np.errstate(over="ignore"):
        action: Action = array.astype(np.float32)
    bad = ~np.isfinite(action)
    if bad.any():
        at = int(np.argmax(bad))
        raise BridgeError(f"actions[{at}] is {action[at]}, expected a finite number")
    return action
