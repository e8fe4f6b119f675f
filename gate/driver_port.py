"""The driver's end of the Gate: takes admitted commands and says where the arm must be now.

A command is taken only if its seal is good and it continues, without a step, what the driver is
executing. A lost, late or forged command therefore changes nothing: the driver follows the motion
that it has, which ends at rest.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from interlock.gate.samples import at_rest, end_ns, gripper_at, path_at, state_at, stop_ns
from interlock.gate.seal import Opener
from interlock.messages.command import AdmittedCommand

if TYPE_CHECKING:
    from interlock.messages.columns import Matrix, Vector

#: How far the start of a command may be from the driver's own set-point: rounding, no more.
CONTINUITY = 1e-6
#: Commands accepted ahead of their start.
MAX_AHEAD = 64


class SetPoint(NamedTuple):
    """Where the arm is to be now.

    Attributes:
        position: Shape (n_joints,), in rad.
        velocity: Shape (n_joints,), in rad/s.
        acceleration: Shape (n_joints,), in rad/s^2.
        gripper_m: Distance between the fingers, in m; None before the first was commanded.
        gripper_force_n: Largest grip force, in N.
        phase: ``segment``, ``stop`` or ``hold``, as in RobotState.
        executing: Number of the command that is executed or held; -1 before the first.
    """

    position: Vector
    velocity: Vector
    acceleration: Vector
    gripper_m: float | None
    gripper_force_n: float
    phase: str
    executing: int


class DriverPort:
    """Holds the motion being executed.

    Attributes:
        refused: How often each reason to refuse was given, by code.
        refusal: The last reason, as ``code: sentence``; empty if none was given.
        tracked: Task whose command is executed; empty before the first.
    """

    def __init__(self, key: bytes, *, run: str, position: Vector) -> None:
        self._opener = Opener(key, run=run, n_joints=len(position))
        self._rest = at_rest(np.asarray(position, np.float64))
        self._current: AdmittedCommand | None = None
        self._ahead: deque[AdmittedCommand] = deque()
        self._gripper: float | None = None
        self._force_n = 0.0
        self.refusal = ""
        self.tracked = ""

    @property
    def refused(self) -> Counter[str]:
        """How often each reason to refuse was given, by code."""
        return self._opener.refused

    @property
    def refused_count(self) -> int:
        """How many commands were refused."""
        return self._opener.refused.total()

    @property
    def rest_ns(self) -> int:
        """When all that was accepted will have come to rest, in ns; 0 when nothing was."""
        motions = [*self._ahead] if self._current is None else [self._current, *self._ahead]
        return max(map(end_ns, motions), default=0)

    def restart_at(self, position: Vector) -> None:
        """Forget every motion and hold a position: the arm was put there by other means.

        The next command must continue -1, from this position.
        """
        self._rest = at_rest(np.asarray(position, np.float64))
        self._current = None
        self._ahead.clear()
        self._gripper = None

    def accept(self, command: object, now_ns: int) -> str | None:
        """Take a command, or return why not, as ``code: sentence``. Never raises.

        Args:
            command: What arrived; anything at all.
            now_ns: Time on the dataflow's clock, in ns.
        """
        reason = self._opener.open(command, now_ns)
        if reason is None:
            reason = self._discontinuity(command, now_ns)  # type: ignore[arg-type]
            if reason is not None:
                self.refused[reason.partition(":")[0]] += 1
        if reason is not None:
            self.refusal = reason
            return reason
        assert isinstance(command, AdmittedCommand)
        while self._ahead and self._ahead[-1].number != command.continues:
            self._ahead.pop()
        self._ahead.append(command)
        return None

    def set_point(self, now_ns: int) -> SetPoint:
        """Return where the arm is to be at a time; times must not go back."""
        self._advance(now_ns)
        motion = self._current
        if motion is None:
            return SetPoint(*self._rest, self._gripper, self._force_n, "hold", -1)
        width = gripper_at(motion, now_ns)
        if width is not None:
            self._gripper, self._force_n = width, motion.gripper_force_n
        if now_ns >= end_ns(motion):
            phase = "hold"
        else:
            phase = "stop" if now_ns >= stop_ns(motion) else "segment"
        state = state_at(motion, now_ns)
        return SetPoint(*state, self._gripper, self._force_n, phase, motion.number)

    def path(self, first_ns: int, period_ns: int, count: int) -> tuple[Matrix, Matrix]:
        """Return set-points at the next times, as many as one motion and one grip cover.

        Args:
            first_ns: First time, in ns; must not go back.
            period_ns: Time between set-points, in ns.
            count: How many are wanted, 1 or more.

        Returns:
            Positions in rad and velocities in rad/s, shape (n, n_joints) each, 1 <= n <= count;
            gripper, phase and number are those of ``set_point(first_ns)`` for all of them.
        """
        self._advance(first_ns)
        motion = self._current
        if self._ahead:
            until_ns = self._ahead[0].start_ns
            count = min(count, max(1, -(-(until_ns - first_ns) // period_ns)))
        if motion is None:
            rest, velocity = self._rest.position, self._rest.velocity
            return np.tile(rest, (count, 1)), np.tile(velocity, (count, 1))
        last_ns = first_ns + (count - 1) * period_ns
        if gripper_at(motion, first_ns) != gripper_at(motion, last_ns):
            count = 1
        return path_at(motion, first_ns + period_ns * np.arange(count))

    def _advance(self, now_ns: int) -> None:
        while self._ahead and now_ns >= self._ahead[0].start_ns:
            if self._current is not None:
                self._keep_gripper(self._current, self._ahead[0].start_ns)
            self._current = self._ahead.popleft()
            self.tracked = self._current.task

    def _keep_gripper(self, motion: AdmittedCommand, until_ns: int) -> None:
        width = gripper_at(motion, until_ns - 1)
        if width is not None:
            self._gripper, self._force_n = width, motion.gripper_force_n

    def _discontinuity(self, command: AdmittedCommand, now_ns: int) -> str | None:
        self._advance(now_ns)
        if now_ns > command.start_ns:
            late_ms = (now_ns - command.start_ns) / 1e6
            return f"late: it arrived {late_ms:.1f} ms after its start"
        if not self._known(command.continues):
            return (
                f"continuity: it continues {command.continues}, the driver executes "
                f"{self._executing}"
            )
        before = self._named(command.continues)
        if before is not None and command.start_ns < before.start_ns:
            return f"continuity: it starts before number {before.number}, which it continues"
        here = self._rest if before is None else state_at(before, command.start_ns)
        there = (command.position[0], command.velocity[0], command.acceleration[0])
        gaps = [float(np.abs(a - b).max()) for a, b in zip(here, there, strict=True)]
        # NaN can't get here: the opener refuses it.
        if max(gaps) > CONTINUITY:
            return f"continuity: it starts {gaps[0]:.2g} rad, {gaps[1]:.2g} rad/s off the set-point"
        if len(self._ahead) >= MAX_AHEAD:
            return f"too_many: {MAX_AHEAD} commands wait for their start"
        return None

    def _known(self, number: int) -> bool:
        return number == self._executing or any(m.number == number for m in self._ahead)

    def _named(self, number: int) -> AdmittedCommand | None:
        ahead = next((m for m in self._ahead if m.number == number), None)
        return self._current if ahead is None else ahead

    @property
    def _executing(self) -> int:
        return -1 if self._current is None else self._current.number
