"""From a command and what the driver executes to the motion that the command would start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interlock.gate.decision import Finding, Reason
from interlock.gate.lead import Lead
from interlock.gate.plan import Plan, Schedule, schedule
from interlock.gate.samples import end_ns, rest_from

if TYPE_CHECKING:
    from interlock.gate.chain import Chain
    from interlock.gate.config import GateConfig
    from interlock.gate.planner import Planner
    from interlock.gate.robot import RobotModel
    from interlock.messages.columns import Matrix, Vector
    from interlock.messages.command import Command

_MS = 1_000_000
#: Commands that last longer than this are sampled at twice the time, up to this many ms.
_LONG_NS = 1_500_000_000
_COARSEST_MS = 20.0

Built = tuple[Plan | None, int, list[Finding]]


class Motion:
    """Builds the motion of a command."""

    def __init__(
        self, config: GateConfig, planner: Planner, chain: Chain, robot: RobotModel
    ) -> None:
        self._config = config
        self._planner = planner
        self._chain = chain
        self._robot = robot
        self.lead = Lead(config.lead_ms, config.max_lead_ms)

    def earliest_ns(self, now_ns: int) -> int:
        """Return when a motion that is decided now can start, in ns."""
        return now_ns + self.lead.ns

    def build(self, command: Command, now_ns: int) -> Built:
        """Return the motion, how many rows it skips, and why there is none or only part of one."""
        if not self._chain.known:
            return None, 0, [_refused("no_state", _NO_STATE, "Wait until the status is ready.")]
        problem = self._untimely(command, now_ns)
        if problem is not None:
            return None, 0, [problem]
        earliest_ns = self.earliest_ns(now_ns)
        if command.space != "hold":
            earliest_ns = max(earliest_ns, self._committed_ns())
        if command.space == "hold":
            return self.stop_from(earliest_ns, command.gripper_m), 0, []
        if command.space == "gripper":
            return self.rest_of(self._next_sample_ns(earliest_ns), command.gripper_m), 0, []
        return self._along_rows(command, earliest_ns)

    def stop_from(self, start_ns: int, gripper_m: Vector | None = None) -> Plan:
        """Return the jerk-limited stop from the state commanded at a time."""
        start = self._chain.state_at(start_ns)
        when = Schedule(start_ns=start_ns, period_ns=self._sample_ns(0), samples=())
        nothing = np.zeros((0, len(start.position)))
        gripper = np.zeros(0) if gripper_m is None else gripper_m
        return self._planner.plan(nothing, start, when, gripper_m=gripper)

    def rest_of(self, start_ns: int, gripper_m: Vector | None = None) -> Plan:
        """Return what is executed from a time on, to its end at rest."""
        motion = self._chain.motion_at(start_ns)
        if motion is None or end_ns(motion) <= start_ns:
            return self.stop_from(start_ns, gripper_m)
        period_ns = motion.period_ns
        position, velocity, acceleration = rest_from(motion, start_ns)
        steps = len(position) - 1
        stop_ns = motion.start_ns + motion.stop_index * period_ns
        n = position.shape[1]
        width = np.zeros(0) if gripper_m is None or not gripper_m.size else gripper_m[:1]
        return Plan(
            start_ns=start_ns,
            period_ns=period_ns,
            position=position,
            velocity=velocity,
            acceleration=acceleration,
            stop_index=min(max(0, -(-(stop_ns - start_ns) // period_ns)), steps),
            row_end=np.zeros(0, np.int64),
            targets=np.zeros((0, n)),
            demanded=np.zeros((0, n)),
            lag=np.zeros((0, n)),
            gripper_m=np.repeat(width, steps + 1),
        )

    def _next_sample_ns(self, now_ns: int) -> int:
        """Return the time of the next sample of what is executed: from there it goes on as it is.

        Between samples, each command for the gripper would put off the end of the motion.
        """
        motion = self._chain.motion_at(now_ns)
        if motion is None or end_ns(motion) <= now_ns:
            return now_ns
        return now_ns + (motion.start_ns - now_ns) % motion.period_ns

    def start_position(self, now_ns: int) -> Vector:
        """Return the commanded position where a motion decided now would start."""
        return self._chain.state_at(max(self.earliest_ns(now_ns), self._committed_ns())).position

    def _committed_ns(self) -> int:
        newest = self._chain.newest
        return 0 if newest is None else newest.start_ns + int(self._config.commit_ms * _MS)

    def _along_rows(self, command: Command, earliest_ns: int) -> Built:
        rows = len(command.targets)
        when = schedule(
            rows=rows,
            period_ns=command.period_ns,
            asked_ns=command.start_ns,
            earliest_ns=earliest_ns,
            sample_ns=self._sample_ns(rows * command.period_ns),
        )
        if when is None:
            late = "Every row of the command was due before it could start"
            way_out = "Compute it again from a newer observation."
            return None, rows, [_refused("overdue", late, way_out)]
        start = self._chain.state_at(when.start_ns)
        targets, unreachable = self._joint_rows(command, start.position)
        findings = [] if unreachable is None else [unreachable]
        if len(targets) <= when.skipped:
            return None, when.skipped, findings
        kept = targets[when.skipped :]
        gripper = command.gripper_m
        plan = self._planner.plan(
            kept,
            start,
            Schedule(
                start_ns=when.start_ns,
                period_ns=when.period_ns,
                samples=when.samples[: len(kept)],
                skipped=when.skipped,
            ),
            gripper_m=gripper[when.skipped :][: len(kept)] if gripper.size > 1 else gripper,
            before=self._before(command, targets, when),
            ends_at_rest=command.ends_at_rest and len(targets) == rows,
        )
        return plan, when.skipped, findings

    def _before(self, command: Command, targets: Matrix, when: Schedule) -> Vector | None:
        """Return the point that the first row follows, where that is not the commanded one."""
        if when.skipped:
            return np.asarray(targets[when.skipped - 1])
        return self._chain.reference_at(when.start_ns, command.task)

    def _joint_rows(self, command: Command, seed: Vector) -> tuple[Matrix, Finding | None]:
        if command.space == "joint":
            return np.array(command.targets, np.float64), None
        found: list[Vector] = []
        for row, pose in enumerate(command.targets):
            position = self._robot.inverse(pose, found[-1] if found else seed)
            if position is None or not np.isfinite(position).all():
                return np.array(found).reshape(-1, len(seed)), _unreachable(row, pose)
            found.append(position)
        return np.array(found), None

    def _untimely(self, command: Command, now_ns: int) -> Finding | None:
        if command.deadline_ns and now_ns > command.deadline_ns:
            late_ms = (now_ns - command.deadline_ns) / 1e6
            sentence = f"The command arrived {late_ms:.1f} ms after its deadline"
            return _refused("deadline", sentence, "Send it earlier.")
        ahead_ms = (command.start_ns - now_ns) / 1e6
        if not ahead_ms <= self._config.max_ahead_ms:
            sentence = (
                f"The command would start in {ahead_ms:.0f} ms, "
                f"at most {self._config.max_ahead_ms:.0f} ms are allowed"
            )
            return _refused("too_far_ahead", sentence, "Send it later.")
        lasts_s = command.period_ns * len(command.targets) / 1e9
        if not lasts_s <= self._config.max_horizon_s:
            sentence = (
                f"The command would last {lasts_s:.1f} s, "
                f"at most {self._config.max_horizon_s:.1f} s are allowed"
            )
            return _refused("too_long", sentence, "Send fewer rows, or a shorter period.")
        return None

    def _sample_ns(self, lasts_ns: int) -> int:
        sample_ms = self._config.sample_ms
        if lasts_ns > _LONG_NS:
            sample_ms = min(2 * sample_ms, _COARSEST_MS)
        return int(sample_ms * _MS)


_NO_STATE = "The Gate does not know yet what the driver executes"


def _refused(code: str, sentence: str, way_out: str) -> Finding:
    return Finding(name=code, reason=Reason(code=code, sentence=sentence, way_out=way_out))


def _unreachable(row: int, pose: Vector) -> Finding:
    x, y, z = pose[:3]
    return Finding(
        name="unreachable_pose",
        reason=Reason(
            code="unreachable_pose",
            sentence=f"Row {row}: the tool can't reach x {x:.3f}, y {y:.3f}, z {z:.3f} m as turned",
            way_out="Ask for a pose nearer to the arm, or another orientation.",
            row=row,
        ),
    )
