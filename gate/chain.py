"""What the driver executes, as the Gate knows it: the motions it has sent, one continuing another.

The Gate knows the commanded state at any time because it knows what it sent. What the driver
reports is compared with that; when the driver did not take a motion, the Gate falls back to what
the driver then has: the one it executes, and any later one that the lost motion was to replace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from interlock.gate.samples import JointState, at_rest, end_ns, state_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlock.gate.plan import Plan
    from interlock.messages.columns import Integers, Matrix, Vector
    from interlock.messages.command import AdmittedCommand
    from interlock.messages.robot import RobotState

_REMEMBERED = 64


class Reference(NamedTuple):
    """The straight lines along which a motion was asked to go.

    Attributes:
        task: Task that asked.
        times_ns: When each point is due, shape (n_points,), in ns.
        points: Joint positions, shape (n_points, n_joints), in rad; the first is the start.
    """

    task: str
    times_ns: Integers
    points: Matrix


#: After a restart the Gate does not know which numbers it has used; it leaves this many out.
_RESTART_GAP = 1000


def _followed_by(
    motions: Sequence[AdmittedCommand], motion: AdmittedCommand
) -> list[AdmittedCommand]:
    """Return motions with one more, which replaces those that would start after it."""
    # Of two with the same start, the driver executes the one that continues the other.
    return [*(m for m in motions if m.start_ns <= motion.start_ns), motion]


def reference_of(plan: Plan, task: str) -> Reference | None:
    """Return the lines that a motion was asked to follow; None when it had no rows."""
    if not len(plan.targets):
        return None
    first_s = plan.row_end[0] * plan.period_ns * 1e-9
    origin = plan.targets[0] - first_s * plan.demanded[0]
    return Reference(
        task=task,
        times_ns=plan.start_ns + np.concatenate([[0], plan.row_end]) * plan.period_ns,
        points=np.vstack([origin, plan.targets]),
    )


class Chain:
    """The motions sent to the driver.

    Attributes:
        missed: Motions that the driver did not take.
        reference: Where the arm was last asked to be, by whom.
    """

    def __init__(self) -> None:
        self._motions: list[AdmittedCommand] = []
        self._sent: list[AdmittedCommand] = []
        self._lost: set[int] = set()
        self._forgotten = -1
        self._base: Vector | None = None
        self._base_number = -1
        self._next = 0
        self.reference: Reference | None = None
        self.missed = 0

    @property
    def known(self) -> bool:
        """Whether the commanded state is known."""
        return self._base is not None or bool(self._motions)

    @property
    def next_number(self) -> int:
        """Number of the next admitted command."""
        return self._next

    @property
    def newest(self) -> AdmittedCommand | None:
        """The motion sent last, if it still counts."""
        return self._motions[-1] if self._motions else None

    def motion_at(self, now_ns: int) -> AdmittedCommand | None:
        """Return the motion that is executed at a time; None when none was sent before it."""
        found = None
        for motion in self._motions:
            if motion.start_ns <= now_ns:
                found = motion
        return found

    def state_at(self, now_ns: int) -> JointState:
        """Return the commanded state at a time."""
        motion = self.motion_at(now_ns)
        if motion is not None:
            return state_at(motion, now_ns)
        assert self._base is not None
        return at_rest(self._base)

    def continues_at(self, now_ns: int) -> int:
        """Return the number that a motion starting at a time continues."""
        motion = self.motion_at(now_ns)
        return self._base_number if motion is None else motion.number

    def rest_ns(self) -> int:
        """Return when the arm is commanded to be at rest, in ns; 0 when it is already."""
        # A motion that stands still, as for the gripper alone, does not put off the rest.
        moving = (end_ns(m) for m in reversed(self._motions) if m.velocity.any())
        return next(moving, 0)

    def reference_at(self, now_ns: int, task: str) -> Vector | None:
        """Return where a task asked the arm to be at a time; None when it asked for no such time.

        The arm may lag behind it. A stream of rows goes on from the row before, not from the lag.
        """
        last = self.reference
        if last is None or last.task != task:
            return None
        times, points = last.times_ns, last.points
        slack_ns = times[-1] - times[-2]
        if not times[0] <= now_ns <= times[-1] + slack_ns:
            return None
        after = min(int(np.searchsorted(times, now_ns, side="right")), len(times) - 1)
        share = (min(now_ns, times[-1]) - times[after - 1]) / (times[after] - times[after - 1])
        between: Vector = points[after - 1] + share * (points[after] - points[after - 1])
        return between

    def sent(self, motion: AdmittedCommand, reference: Reference | None = None) -> None:
        """Note a motion that was sent; it replaces those that would start after it."""
        self.reference = reference
        self._motions = _followed_by(self._motions, motion)[-_REMEMBERED:]
        self._sent.append(motion)
        for old in self._sent[:-_REMEMBERED]:
            self._forgotten = old.number
            self._lost.discard(old.number)
        del self._sent[:-_REMEMBERED]
        self._next = motion.number + 1

    def instead(self, number: int, recorded: Sequence[AdmittedCommand]) -> None:
        """Put recorded motions in the place of those sent from a number on.

        For judging a run again: the driver did what was recorded, whatever is found now.
        """
        same = self._next == number + len(recorded)
        self._motions = [m for m in self._motions if m.number < number]
        self._sent = [m for m in self._sent if m.number < number]
        reference = self.reference if same else None
        self._next = number
        for motion in recorded:
            self.sent(motion, reference)

    def observe(self, state: RobotState, observed_ns: int) -> str | None:
        """Compare with what the driver reports; return what was corrected, in one sentence."""
        expected = self.motion_at(observed_ns - 1)
        number = self._base_number if expected is None else expected.number
        if self.known and state.executing == number:
            return None
        starting = self.motion_at(observed_ns)
        if self.known and starting is not None and state.executing == starting.number:
            return None
        if self._fall_back(state, observed_ns):
            return f"the driver executes number {state.executing} and did not take a newer one"
        return self._resynchronise(state, first=not self.known)

    def _fall_back(self, state: RobotState, observed_ns: int) -> bool:
        """Take out motions that the driver did not take; return whether what it does is known."""
        self.reference = None
        executing = state.executing
        due = self.motion_at(observed_ns - 1)
        while due is not None and due.number != executing:
            self._lost.add(due.number)
            self.missed += 1
            self._motions = self._taken()
            due = self.motion_at(observed_ns - 1)
        if due is not None:
            return True
        if self._base is not None and executing == self._base_number:
            # Else it was put elsewhere by other means.
            return bool(np.allclose(state.commanded_position, self._base, rtol=0, atol=1e-6))
        self._motions = [m for m in self._sent if m.number == executing]
        return bool(self._motions)

    def _taken(self) -> list[AdmittedCommand]:
        """Return the motions that the driver has, if it took all but the lost ones."""
        taken: list[AdmittedCommand] = []
        known = {self._base_number, self._forgotten}
        for motion in self._sent:
            if motion.continues in known and motion.number not in self._lost:
                known.add(motion.number)
                taken = _followed_by(taken, motion)
        return taken

    def _resynchronise(self, state: RobotState, *, first: bool) -> str | None:
        self.missed += len(self._motions)
        self._motions, self._sent, self._lost = [], [], set()
        if state.phase != "hold":
            # It moves along something the Gate does not know; it will come to rest by itself.
            self._base = None
            return "the driver executes a motion that this Gate has not sent; waiting for its end"
        self._base = state.commanded_position.copy()
        self._base_number = state.executing
        if state.executing >= self._next:
            self._next = state.executing + _RESTART_GAP
        return None if first else f"the driver holds still after number {state.executing}"
