"""Between the thread that serves a remote client and the node: wishes in, sights and verdicts out.

Every wait of the client's side is bounded in real time. In simulated time the node waits for the
client in turn, so that the simulation does not run on while somebody thinks.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from interlock.robots.bridge.faults import BridgeError, WireError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from interlock.messages import Basis, RobotState, Verdict

    Action = NDArray[np.float32]

#: Longest wait for the Gate's word on one command, or for a newer state, in s.
ANSWER_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What there is to see now.

    Attributes:
        observed_ns: When it was so; the oldest of what it holds.
        state_ns: When the robot's state was observed.
        state: The robot's state.
        features: Arrays by their key on the wire.
        basis: The messages that it was made from.
    """

    observed_ns: int
    state_ns: int
    state: RobotState
    features: Mapping[str, NDArray[np.generic]]
    basis: tuple[Basis, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """An action that waits for the Gate.

    Attributes:
        action: Shape (width,).
        basis: What the client had seen.
    """

    action: Action
    basis: tuple[Basis, ...]


class Door:
    """One client at a time.

    Args:
        patience_s: Longest wait of a client for the arm, in s.

    Attributes:
        wanted: The visit that is to have the arm; empty for none.
        holder: The visit that has it.
    """

    def __init__(self, *, patience_s: float = 10.0) -> None:
        self._changed = threading.Condition()
        self._patience_s = patience_s
        self._sight: Sight | None = None
        self._asked: Asked | None = None
        self._answer: tuple[Verdict, int] | None = None
        self._lost: dict[str, str] = {}
        self._waiting = 0
        self._closed = ""
        self._visits = 0
        self.wanted = ""
        self.holder = ""

    # The client's side

    def enter(self, owner: str) -> None:
        """Wait until an owner has the arm.

        Raises:
            WireError: If the Gate refuses, or somebody else keeps the arm.
        """
        with self._changed:
            self._lost.clear()
            self._visits += 1
            # A client that comes back while its last task still ends is a new visit.
            visit = self.wanted = f"{owner}#{self._visits}"
            self._wait(lambda: self.holder == visit or visit in self._lost, self._patience_s)
            if self.holder == visit and not self._closed:
                return
            self.wanted = ""
            why = self._closed or self._lost.get(visit) or self._no_arm()
        raise WireError("not_granted", why)

    def leave(self, owner: str) -> None:
        """Give the arm up; it comes to rest."""
        with self._changed:
            if self.wanted.rpartition("#")[0] == owner:
                self.wanted, self._asked = "", None
            self._changed.notify_all()

    def ask(self, action: Action, basis: tuple[Basis, ...]) -> tuple[Verdict, int]:
        """Return the Gate's verdict on an action and the start it was asked for.

        Raises:
            WireError: If the client has lost the arm, or the Gate does not answer.
        """
        with self._changed:
            visit = self.wanted
            self._asked, self._answer = Asked(action=action, basis=basis), None
            self._changed.notify_all()
            self._wait(lambda: self._answer is not None or self._void(visit), ANSWER_S)
            self._asked = None
            if self._answer is not None:
                return self._answer
            if self._void(visit):
                why = self._closed or self._lost.get(visit, "its client left")
                raise WireError("not_granted", f"the task has ended: {why}; claim again")
        raise WireError("robot_fault", f"the Gate gave no verdict within {ANSWER_S:g} s")

    def see(self, enough: Callable[[Sight], bool] = lambda _: True) -> Sight:
        """Return what there is to see, as soon as it is enough.

        Raises:
            BridgeError: If it does not come.
        """
        with self._changed:
            self._wait(lambda: self._sight is not None and enough(self._sight), ANSWER_S)
            sight = self._sight
            if self._closed or sight is None or not enough(sight):
                why = self._closed or f"the arm did not get there within {ANSWER_S:g} s"
                raise BridgeError(f"no new observation: {why}")
            return sight

    def _void(self, visit: str) -> bool:
        return not visit or visit in self._lost

    def _no_arm(self) -> str:
        return f"the Gate did not give the arm within {self._patience_s:g} s; is it in use?"

    def _wait(self, done: Callable[[], bool], limit_s: float) -> bool:
        self._waiting += 1
        self._changed.notify_all()
        try:
            return self._changed.wait_for(lambda: bool(self._closed) or done(), limit_s)
        finally:
            self._waiting -= 1

    # The node's side

    def show(self, sight: Sight) -> None:
        """Show what there is to see now."""
        with self._changed:
            self._sight = sight
            self._changed.notify_all()

    def granted(self, visit: str) -> None:
        """Say that a visit has the arm."""
        with self._changed:
            self.holder = visit
            self._changed.notify_all()

    def lost(self, visit: str, reason: str) -> None:
        """Say that the task of a visit has ended, and why."""
        with self._changed:
            self._lost[visit] = reason
            self.holder = "" if self.holder == visit else self.holder
            self.wanted = "" if self.wanted == visit else self.wanted
            self._changed.notify_all()

    def take(self) -> Asked | None:
        """Return the action that waits for the Gate, once."""
        with self._changed:
            asked, self._asked = self._asked, None
            return asked

    def answer(self, verdict: Verdict, start_ns: int) -> None:
        """Pass on the Gate's verdict on the action taken last."""
        with self._changed:
            self._answer = (verdict, start_ns)
            self._changed.notify_all()

    def close(self, reason: str) -> None:
        """End every wait."""
        with self._changed:
            self._closed = reason
            self._changed.notify_all()

    def await_turn(self, limit_s: float) -> bool:
        """Wait until the client wants time to pass (simulated time); False when it does not."""
        with self._changed:
            return self._changed.wait_for(
                lambda: bool(self._waiting or self._closed or self.wanted != self.holder), limit_s
            )
