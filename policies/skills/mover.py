"""Turns goals into chunks of joint targets, ahead of the commanded state, chunk after chunk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from interlock.messages import Command
from interlock.policies.errors import UnreachableError
from interlock.policies.skills.answers import SLOWEST, Answers
from interlock.policies.skills.plan import (
    CoastPlan,
    JointPlan,
    LinePlan,
    joint_motion,
    line_axes,
    line_motion,
)
from interlock.policies.skills.poses import tilt_of
from interlock.policies.skills.sent import SentRows
from interlock.policies.skills.strain import SAME_GOAL, curves_to, gentle_line, swings_out

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from interlock.messages import RobotState, Verdict
    from interlock.policies.arm import Arm
    from interlock.policies.skills.plan import Plan

    Vector = NDArray[np.float64]

ROW_NS = 20_000_000
ROWS = 12
#: Rows at the goal after the motion: the Gate's follower settles there before it stops.
SETTLE_ROWS = 5
#: A new chunk goes out when less than this of the last one is left.
RUNWAY_NS = 120_000_000
#: Time from now to the first instant that a new chunk changes: on simulated time, and live, where
#: a busy host may take tens of ms to bring a command to the driver, which refuses a late one.
LEAD_NS = 20_000_000
LIVE_LEAD_NS = 50_000_000
#: The commanded state may differ from the plan by this much before it is planned anew, in rad.
DRIFT_RAD = 0.08
#: The tool may be tilted this much and still counts as pointing down, in rad.
DOWN_RAD = 0.02
#: The commanded state is this close to the goal when a motion has ended, in rad.
ARRIVED_RAD = 0.002
ARRIVED_MPS = 0.01
RETRY_NS = 300_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Now:
    """One control cycle.

    Attributes:
        time_ns: Now, in ns.
        state: The robot's state.
        observed_ns: When the state held, in ns.
    """

    time_ns: int
    state: RobotState
    observed_ns: int


class Mover:
    """Plans one task's motion and follows the Gate's answers.

    Args:
        arm: Kinematics and limits.
        send: Sends a command and returns its number on the command output.
        token: The Gate's token.
        lead_ns: Time from now to the first instant that a new chunk changes, in ns.
    """

    def __init__(
        self,
        arm: Arm,
        send: Callable[[Command], int],
        *,
        token: str,
        lead_ns: int = LEAD_NS,
    ) -> None:
        self._arm, self._send, self._token, self._lead_ns = arm, send, token, lead_ns
        self.speed = 1.0
        self.answers = Answers()
        self._plan: Plan | None = None
        self._sent = SentRows()
        self._committed_ns = 0
        self._settle_ns: int | None = None
        self._solved: tuple[Vector, Vector] | None = None

    # ----- goals

    def to_line(self, pose: Vector, now: Now) -> bool:
        """Go on toward a downward tool pose, straight; return True when it has arrived.

        Raises:
            UnreachableError: If the arm can't go there.
            GateRefusedError: If the Gate does not let it.
        """
        if self._settling(now):
            return False
        plan, splice_ns, seed = self._splice(now)
        straight = isinstance(plan, LinePlan)
        if not straight and tilt_of(self._arm.forward(seed)) > DOWN_RAD:
            return self.to_pose(pose, now)
        begin = line_motion(self._arm, plan, splice_ns, seed)
        goal = line_axes(pose, float(begin.position[3]))
        if not (straight and self._same(plan, goal)):
            line = LinePlan(self._arm, begin, goal, start_ns=splice_ns, speed=self._pace)
            if curves_to(plan, pose, self._solved) and swings_out(line):
                return self.to_pose(pose, now)  # it ends at rest there as well
            plan = gentle_line(self._arm, line, begin, seed=seed, speed=self._pace)
        return self._go_on(plan, splice_ns, seed, now)

    def to_pose(self, pose: Vector, now: Now) -> bool:
        """Go on toward any tool pose, on a curved way; True when arrived."""
        known = self._solved
        if known is None or np.abs(known[0] - pose).max() > SAME_GOAL:
            known = self._solved = (pose, self.inverse(pose, now))
        return self.to_joints(known[1], now)

    def to_joints(self, goal: Vector, now: Now) -> bool:
        """Go on toward joint positions, shape (n_joints,), in rad; True when arrived."""
        if self._settling(now):
            return False
        plan, splice_ns, seed = self._splice(now)
        if not (isinstance(plan, JointPlan) and self._same(plan, goal)):
            begin = joint_motion(plan, splice_ns, seed)
            plan = JointPlan(self._arm, begin, goal, start_ns=splice_ns, speed=self._pace)
        return self._go_on(plan, splice_ns, seed, now)

    def inverse(self, pose: Vector, now: Now) -> Vector:
        """Return joint positions that reach a tool pose, near where the arm will be.

        Raises:
            UnreachableError: If there are none.
        """
        found = self._arm.inverse(pose, self._splice(now)[2])
        if found is None:
            x, y, z = pose[:3]
            raise UnreachableError(
                f"no joint positions reach x {x:.3f}, y {y:.3f}, z {z:.3f} m in this orientation"
            )
        return found

    def hold(self) -> None:
        """Decelerate and stand still; sent once."""
        if self._plan is not None:
            self._send(Command(task=self._token, space="hold"))
            self._forget()

    def on_verdict(self, verdict: Verdict) -> None:
        """Take in the Gate's answer to one command of this task."""
        if verdict.admitted:
            self._committed_ns = max(self._committed_ns, verdict.committed_until_ns)
        part = self.answers.take(verdict)
        if part is not None:
            start_ns, rows = part
            self._sent.cut(start_ns + rows * ROW_NS)

    # ----- chunks

    @property
    def _pace(self) -> float:
        return max(SLOWEST, self.speed * self.answers.pace)

    def _go_on(self, plan: Plan, splice_ns: int, seed: Vector, now: Now) -> bool:
        until_ns, end_ns = self._sent.until_ns, plan.end_ns + SETTLE_ROWS * ROW_NS
        short = until_ns < end_ns and until_ns - now.time_ns < RUNWAY_NS
        if plan is not self._plan or short:
            self._plan = plan
            self._send_rows(plan, splice_ns, seed, now)
        return self._arrived(plan, now)

    def _arrived(self, plan: Plan, now: Now) -> bool:
        if now.time_ns < plan.end_ns or self._sent.until_ns < plan.end_ns:
            return False
        off = np.abs(self._sent.last - now.state.commanded_position).max()
        if off <= ARRIVED_RAD and now.state.tool_speed_mps <= ARRIVED_MPS:
            return True
        if now.time_ns > plan.end_ns + RETRY_NS:
            self._forget()  # a chunk was lost on the way
        return False

    def _send_rows(self, plan: Plan, start_ns: int, seed: Vector, now: Now) -> None:
        left = -(-(plan.end_ns - start_ns) // ROW_NS) + SETTLE_ROWS
        rows = [seed]
        for k in range(1, max(1, min(ROWS, left)) + 1):
            rows.append(plan.joints_at(start_ns + k * ROW_NS, rows[-1]))
        self._sent.put(start_ns, ROW_NS, rows)
        command = Command(
            task=self._token,
            space="joint",
            targets=np.array(rows[1:]),
            period_ns=ROW_NS,
            start_ns=start_ns,
        )
        number = self._send(command)
        self.answers.asked(number, now_ns=now.time_ns, start_ns=start_ns, rows=len(rows) - 1)

    def _splice(self, now: Now) -> tuple[Plan, int, Vector]:
        """Return the plan, when a new chunk may take over, and the joints at that time."""
        splice_ns = max(now.time_ns + self._lead_ns, self._committed_ns)
        plan = self._plan
        if plan is not None:
            return plan, splice_ns, self._sent.at(splice_ns)
        self._forget()
        coast = CoastPlan(now.state, now.observed_ns)
        return coast, splice_ns, coast.joints_at(splice_ns, now.state.commanded_position)

    def _settling(self, now: Now) -> bool:
        """Return True while the arm comes to rest because it did not go as planned.

        A chunk was refused or lost: what the arm does until its verified stop ends is not known
        well enough to go on from, and from rest it is.
        """
        refused = self.answers.react(now.time_ns)
        if refused or (self._plan is not None and not self._tracks(now)):
            self._forget()
            self._settle_ns = now.time_ns
        if self._settle_ns is None:
            return self.answers.waiting(now.time_ns)
        stands = now.state.phase == "hold" and not now.state.commanded_velocity.any()
        if stands and now.observed_ns > self._settle_ns:
            self._settle_ns = None
        return self._settle_ns is not None

    def _tracks(self, now: Now) -> bool:
        if not self._sent or now.observed_ns < self._sent.begin_ns:
            return True
        off = np.abs(self._sent.at(now.observed_ns) - now.state.commanded_position).max()
        return bool(off <= DRIFT_RAD)

    def _forget(self) -> None:
        self._plan = None
        self._sent.clear()

    def _same(self, plan: Plan, goal: Vector) -> bool:
        return bool(np.abs(plan.goal - goal).max() <= SAME_GOAL)
