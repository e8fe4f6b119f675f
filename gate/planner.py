"""Turn the rows of a command into the motion that is judged and, if admitted, executed.

Rows are targets on a schedule. From the commanded state at the start, the motion follows the
smooth curve from row to row (``follower.py``); where the limits don't let it keep up it lags, and
the ``tracking`` check limits by how much. A last row that is to be met at rest is approached by
Ruckig's time-optimal motion, stretched to the row's period. Whatever the rows are, the motion keeps
the limits of speed, acceleration and jerk, and the jerk-limited stop (Ruckig's velocity interface,
each joint for itself) follows the last row: every plan ends at rest.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from ruckig import (
    ControlInterface,
    InputParameter,
    Ruckig,
    RuckigError,
    Synchronization,
    Trajectory,
)

from interlock.gate.follower import Follower, Reference
from interlock.gate.plan import Plan, Schedule

if TYPE_CHECKING:
    from interlock.gate.robot import JointLimits
    from interlock.gate.samples import JointState
    from interlock.messages.columns import Integers, Matrix, Vector


#: A last row is given at most this much more time than its period to be met at rest, in s: a place
#: that takes longer to reach is refused as too far for its period, and must not cost time to plan.
_MOST_LATE_S = 5.0


class Planner:
    """Builds plans for one robot within its limits. Not shared between threads."""

    def __init__(self, limits: JointLimits) -> None:
        self.limits = limits
        n = len(limits.velocity)
        self._still = [0.0] * n
        self._follower = Follower(limits)
        self._ruckig = Ruckig(n)
        self._trajectory = Trajectory(n)
        self._move = self._input(n)
        self._brake = self._input(n)
        self._brake.control_interface = ControlInterface.Velocity
        self._brake.synchronization = Synchronization.No
        self._brake.target_velocity = self._still

    def _input(self, n: int) -> InputParameter:
        given = InputParameter(n)
        given.max_velocity = self.limits.velocity.tolist()
        given.max_acceleration = self.limits.acceleration.tolist()
        given.max_jerk = self.limits.jerk.tolist()
        given.target_acceleration = self._still
        given.target_velocity = self._still
        return given

    def plan(
        self,
        targets: Matrix,
        start: JointState,
        when: Schedule,
        *,
        gripper_m: Vector,
        before: Vector | None = None,
        ends_at_rest: bool = False,
    ) -> Plan:
        """Return the motion along the rows with the stop that follows.

        Args:
            targets: Joint positions per row, shape (n_rows, n_joints), in rad, finite; no rows
                means to stop from the start.
            start: Commanded state at the start.
            when: When the rows are due; one entry of ``samples`` per row.
            gripper_m: Distance between the fingers per row, in m; (1,) for all, (0,) for none.
            before: The point that the first row follows, shape (n_joints,), in rad: the row
                before it, or where the task asked the arm to be; None takes the start.
            ends_at_rest: True when the last row is to be met at rest.
        """
        demanded = _speeds(targets, start, when, before)
        last = len(targets) - 1 if ends_at_rest else len(targets)
        samples, stop_index = self._along(targets, demanded, np.array(start), when, last)
        position, velocity, acceleration = np.ascontiguousarray(samples.transpose(1, 0, 2))
        row_end = np.cumsum(when.samples[: len(targets)], dtype=np.int64)
        return Plan(
            start_ns=when.start_ns,
            period_ns=when.period_ns,
            position=position,
            velocity=velocity,
            acceleration=acceleration,
            stop_index=stop_index,
            row_end=row_end,
            targets=targets,
            demanded=demanded,
            lag=position[row_end] - targets,
            gripper_m=_spread(gripper_m, row_end, len(position)),
        )

    def _along(
        self, targets: Matrix, demanded: Matrix, start: Matrix, when: Schedule, last: int
    ) -> tuple[Matrix, int]:
        """Return the samples along the rows and of the stop, and the one at which it begins.

        The row at ``last``, if there is one, is met at rest.
        """
        h = when.period_ns * 1e-9
        blocks = [start[None]]
        if last > 0:
            bend = self._bends(demanded, when)
            reference = _reference(targets[:last], demanded, bend, when)
            blocks.append(self._follower.follow(start, reference, h))
        if last < len(targets):
            blocks.append(self._arrive(blocks[-1][-1], targets[last], when.samples[last], h))
        stop_index = sum(map(len, blocks)) - 1
        return np.concatenate([*blocks, self.stop(blocks[-1][-1], h)]), stop_index

    def _bends(self, demanded: Matrix, when: Schedule) -> Matrix:
        """Return the acceleration that each row implies, shape (n_rows, n_joints), in rad/s^2.

        Without it the motion would lag behind smooth rows by their acceleration.
        """
        bend = np.zeros_like(demanded)
        if len(demanded) > 1:
            turn = np.diff(demanded, axis=0) / (when.samples[-1] * when.period_ns * 1e-9)
            bend[0], bend[-1] = turn[0], turn[-1]
            bend[1:-1] = (turn[:-1] + turn[1:]) / 2
        return np.clip(bend, -self.limits.acceleration, self.limits.acceleration)

    def _arrive(self, state: Matrix, target: Vector, samples: int, h: float) -> Matrix:
        """Return the samples of a motion that meets a target at rest."""
        given = self._move
        given.current_position, given.current_velocity, given.current_acceleration = state
        given.target_position = target.tolist()
        given.minimum_duration = samples * h
        try:
            self._ruckig.calculate(given, self._trajectory)
            arrives = self._trajectory.duration <= samples * h + _MOST_LATE_S
        except RuckigError:
            arrives = False
        if not arrives:
            # No motion leads there in time: brake instead; the lag says so.
            self._calculate_stop(state)
            return self._sampled(samples, h)
        found = self._sampled(max(samples, math.ceil(self._trajectory.duration / h - 1e-9)), h)
        found[-1, 1:] = 0.0
        return found

    def stop(self, state: Matrix, h: float) -> Matrix:
        """Return the samples of the jerk-limited stop after a state, the last one at rest.

        Args:
            state: Position, velocity and acceleration, shape (3, n_joints).
            h: Time between samples, in s.

        Returns:
            Shape (n_samples, 3, n_joints); no samples when it is at rest already.
        """
        if not state[1:].any():
            return np.zeros((0, *state.shape))
        duration = self._calculate_stop(state)
        found = self._sampled(max(1, math.ceil(duration / h - 1e-9)), h)
        found[-1, 1:] = 0.0
        return found

    def stop_path(self, state: JointState, points: int) -> tuple[Matrix, float]:
        """Return positions along the stop after a state, evenly in time, and how long it takes.

        Args:
            state: Commanded state when the stop begins.
            points: How many positions, the last one at rest.

        Returns:
            Positions, shape (points, n_joints), in rad, and the duration, in s.
        """
        duration = self._calculate_stop(np.array(state))
        at_time = self._trajectory.at_time
        return np.array([at_time(duration * i / points)[0] for i in range(1, points + 1)]), duration

    def _calculate_stop(self, state: Matrix) -> float:
        given = self._brake
        given.current_position, given.current_velocity, given.current_acceleration = state
        self._ruckig.calculate(given, self._trajectory)
        duration: float = self._trajectory.duration
        return duration

    def _sampled(self, samples: int, h: float) -> Matrix:
        at_time = self._trajectory.at_time
        return np.array([at_time(h * i) for i in range(1, samples + 1)])


def _reference(targets: Matrix, speed: Matrix, bend: Matrix, when: Schedule) -> Reference:
    """Return the parabolas that end in each row with its mean speed and its acceleration."""
    h = when.period_ns * 1e-9
    if len(targets) == 1:
        left = h * np.arange(when.samples[0], 0, -1)[:, None]
        even = np.repeat(speed[:1], len(left), axis=0)
        return Reference(targets - left * even, even, np.zeros_like(even))
    counts = np.array(when.samples[: len(targets)])
    row = np.repeat(np.arange(len(targets)), counts)
    left = ((np.cumsum(counts)[row] - np.arange(len(row))) * h)[:, None]
    end = speed[: len(targets)] + bend[: len(targets)] * (counts * h / 2)[:, None]
    turn = bend[row]
    return Reference(
        position=targets[row] - left * (end[row] - left * turn / 2),
        velocity=end[row] - turn * left,
        acceleration=turn,
    )


def _speeds(targets: Matrix, start: JointState, when: Schedule, before: Vector | None) -> Matrix:
    """Return the joint speed that each row asks for, shape (n_rows, n_joints), in rad/s."""
    if not len(targets):
        return np.zeros_like(targets)
    durations = np.array(when.samples, np.float64)[:, None] * when.period_ns * 1e-9
    if when.skipped:
        durations[0] = durations[-1]
    steps = targets.copy()
    steps[1:] -= targets[:-1]
    steps[0] -= start.position if before is None else before
    return steps / durations


def _spread(gripper_m: Vector, row_end: Integers, samples: int) -> Vector:
    """Return the gripper per sample: each row's from the start of its period, never in between."""
    if not gripper_m.size:
        return np.zeros(0)
    if gripper_m.size == 1:
        return np.full(samples, gripper_m[0])
    rows = np.searchsorted(row_end, np.arange(samples), side="right")
    return gripper_m[np.minimum(rows, len(gripper_m) - 1)]
