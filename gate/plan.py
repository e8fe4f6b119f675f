"""A motion that is judged and, if admitted, executed, and when the rows of a command are due."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from interlock.gate.samples import JointState

if TYPE_CHECKING:
    from interlock.messages.columns import Integers, Matrix, Vector


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """A motion that ends at rest.

    Attributes:
        start_ns: When the first sample holds, in ns on the dataflow's clock.
        period_ns: Time between samples, in ns.
        position: Shape (n_samples, n_joints), in rad.
        velocity: Shape (n_samples, n_joints), in rad/s.
        acceleration: Shape (n_samples, n_joints), in rad/s^2.
        stop_index: Sample at which the stop begins.
        row_end: Sample at which each row ends, shape (n_rows,).
        targets: Rows as joint positions, shape (n_rows, n_joints), in rad.
        demanded: Joint speed that each row asks for, shape (n_rows, n_joints), in rad/s.
        lag: How far the motion is from each row when it ends, shape (n_rows, n_joints), in rad.
        gripper_m: Distance between the fingers per sample, shape (n_samples,) in m, or (0,).
    """

    start_ns: int
    period_ns: int
    position: Matrix
    velocity: Matrix
    acceleration: Matrix
    stop_index: int
    row_end: Integers
    targets: Matrix
    demanded: Matrix
    lag: Matrix
    gripper_m: Vector

    @property
    def end_ns(self) -> int:
        """When it comes to rest, in ns."""
        return self.start_ns + (len(self.position) - 1) * self.period_ns

    def state(self, index: int) -> JointState:
        """Return the commanded state at a sample."""
        return JointState(self.position[index], self.velocity[index], self.acceleration[index])

    def row_of(self, index: int) -> int | None:
        """Return the row during which a sample lies; None when there are no rows.

        The stop belongs to the last row.
        """
        if not len(self.row_end):
            return None
        row = int(np.searchsorted(self.row_end, index))
        return min(row, len(self.row_end) - 1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Schedule:
    """When the rows of a command are due.

    Attributes:
        start_ns: When the motion begins, in ns.
        period_ns: Time between samples, in ns.
        samples: Samples from each row's start to its end, shape (n_rows,).
        skipped: Rows of the command that were due before the start and are left out.
    """

    start_ns: int
    period_ns: int
    samples: tuple[int, ...]
    skipped: int = 0


def schedule(
    *, rows: int, period_ns: int, asked_ns: int, earliest_ns: int, sample_ns: int
) -> Schedule | None:
    """Return when each row is due; None when all of them were due before the start.

    A command without a start time (``asked_ns`` 0) begins at the earliest time with its first row.
    One with a start time keeps it: rows that are overdue are skipped, so that a chunk that took
    long to compute is joined where it would be by now.
    """
    if rows == 0:
        return Schedule(start_ns=max(asked_ns, earliest_ns), period_ns=sample_ns, samples=())
    per_row = max(1, round(period_ns / sample_ns))
    step_ns = max(1, period_ns // per_row)
    start_ns = max(asked_ns, earliest_ns)
    if not asked_ns or start_ns == asked_ns:
        return Schedule(start_ns=start_ns, period_ns=step_ns, samples=(per_row,) * rows)
    late = start_ns - asked_ns
    skipped = late // (per_row * step_ns)
    left = per_row - -(-(late % (per_row * step_ns)) // step_ns)
    if left == 0:
        skipped, left = skipped + 1, per_row
    if skipped >= rows:
        return None
    due_ns = asked_ns + (skipped + 1) * per_row * step_ns
    return Schedule(
        start_ns=due_ns - left * step_ns,
        period_ns=step_ns,
        samples=(left, *(per_row,) * (rows - skipped - 1)),
        skipped=skipped,
    )
