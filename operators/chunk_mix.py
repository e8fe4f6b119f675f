"""One action out of a chunk, or out of several that cover the same moment.

Row k of a chunk is the target for the end of its k-th period, so that H rows last H periods at
any control rate: between rows the target moves linearly, rotations along the shorter way, and
discrete columns (a gripper) jump at the start of their period.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlock.operators.chunk_settings import ChunkSettings

Array = NDArray[np.float64]

#: Less than this share of the length is left when opposite actions are averaged.
_OPPOSITE_SHARE = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """What the columns of a chunk are.

    Attributes:
        discrete: Columns that are never interpolated, averaged or blended.
        quaternions: First column of each quaternion w, x, y, z.
    """

    discrete: tuple[int, ...] = ()
    quaternions: tuple[int, ...] = ()

    def tidy(self, values: Array, like: Array) -> Array:
        """Make quaternions of length 1 again, on the same side as those of ``like``."""
        for first in self.quaternions:
            q = values[first : first + 4]
            length = float(np.linalg.norm(q))
            # Two opposite halves that cancel out leave no direction: keep the one there was.
            values[first : first + 4] = q / length if length > 1e-6 else like[first : first + 4]
        return values

    def same_side(self, values: Array, like: Array) -> Array:
        """Turn the sign of quaternions so that they are near those of ``like``; a copy."""
        values = values.copy()
        for first in self.quaternions:
            part = slice(first, first + 4)
            if float(values[part] @ like[part]) < 0:
                values[part] = -values[part]
        return values


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chunk:
    """Absolute targets on a schedule, decoded against the observation that produced them.

    Attributes:
        rows: Shape (horizon, width).
        period_ns: Time from one row to the next, in ns.
        observation_id: Number of the observation it answers.
        observed_ns: When that was, in ns.
        origin: Where the robot was then, shape (width,); rows lead on from it.
        raw: The rows as the model wrote them, shape (horizon, model width), for the prefix.
        start_ns: When the first period begins, in ns.
    """

    rows: Array
    period_ns: int
    observation_id: int
    observed_ns: int
    origin: Array
    raw: Array = field(default_factory=lambda: np.zeros((0, 0)))
    start_ns: int = 0

    @property
    def end_ns(self) -> int:
        """When the last row has been reached."""
        return self.start_ns + len(self.rows) * self.period_ns

    def position(self, now_ns: int) -> float:
        """Return how many rows have been reached at a time: 0 at the start, H at the end."""
        return (now_ns - self.start_ns) / self.period_ns

    def at(self, now_ns: int, columns: Columns) -> Array:
        """Return the target at a time, shape (width,); before the start the origin's."""
        place = min(max(self.position(now_ns), 0.0), float(len(self.rows)))
        after = min(int(np.ceil(place)), len(self.rows))
        towards = self.rows[max(after - 1, 0)]
        before = self.origin if after <= 1 else self.rows[after - 2]
        share = place - (after - 1) if after else 0.0
        near = columns.same_side(before, towards)
        values = near + share * (towards - near)
        discrete = list(columns.discrete)
        # At a boundary the next period begins, so a discrete column shows its new value.
        values[discrete] = self.rows[min(int(place), len(self.rows) - 1)][discrete]
        return columns.tidy(values, towards)


def weights(chunks: Sequence[Array], settings: ChunkSettings, here: Array) -> Array:
    """Return one weight per action, newest last, summing to 1.

    Args:
        chunks: Actions for the same moment, oldest first.
        settings: Which weights.
        here: Where the robot is; similarity compares displacements from it.
    """
    count = len(chunks)
    if settings.strategy == "ensemble":
        age = np.arange(count, dtype=np.float64)
        order = age if settings.ensemble_favours == "oldest" else age[::-1]
        raw = np.exp(-settings.ensemble_decay * order)
    else:
        moves = np.stack(chunks) - here
        lengths = np.linalg.norm(moves, axis=1) * np.linalg.norm(moves[-1])
        cosine = np.where(lengths > 1e-12, moves @ moves[-1] / np.maximum(lengths, 1e-12), 1.0)
        raw = np.exp(settings.similarity * cosine)
    result: Array = raw / raw.sum()
    return result


def average(
    chunks: Sequence[Array], settings: ChunkSettings, columns: Columns, here: Array
) -> tuple[Array, bool]:
    """Return the weighted mean of actions for one moment, and whether they cancel each other.

    Discrete columns come from the newest. Actions that point opposite ways and leave less than
    30 % of their length cancel each other: the arm would freeze between two good plans.
    """
    newest = chunks[-1]
    aligned = [columns.same_side(values, newest) for values in chunks]
    share = weights(aligned, settings, here)
    mean = share @ np.stack(aligned)
    discrete = list(columns.discrete)
    mean[discrete] = newest[discrete]
    mean = columns.tidy(mean, newest)
    moves = np.delete(np.stack(aligned) - here, discrete, axis=1)
    moved = np.delete(mean - here, discrete)
    typical = float(np.mean(np.linalg.norm(moves, axis=1)))
    left = float(np.linalg.norm(moved))
    return mean, typical > 1e-3 and left < _OPPOSITE_SHARE * typical


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Seam:
    """The gap between what was commanded and what a new chunk says, closed smoothly.

    Attributes:
        gap: Old minus new at ``start_ns``, shape (width,); 0 in discrete columns.
        start_ns: When the new chunk took over, in ns.
        length_ns: How long closing takes, in ns.
    """

    gap: Array
    start_ns: int
    length_ns: int

    @classmethod
    def between(
        cls,
        old: Array,
        new: Array,
        now_ns: int,
        *,
        blend_s: float,
        speed: Array | None,
        columns: Columns,
    ) -> Seam:
        """Return the seam that is closed in ``blend_s``, or slower where speed would be exceeded.

        Args:
            old: What was commanded last, shape (width,).
            new: What the new chunk says for the same time, shape (width,).
            now_ns: That time, in ns.
            blend_s: Shortest time, in s.
            speed: Largest speed to spend on closing it, shape (width,); None for no limit.
            columns: What the columns are.
        """
        gap = columns.same_side(old, new) - new
        gap[list(columns.discrete)] = 0.0
        length_s = blend_s
        if speed is not None:
            # The ramp 3x^2 - 2x^3 is 1.5 times as steep in the middle as on average.
            length_s = max(length_s, 1.5 * float(np.max(np.abs(gap) / speed, initial=0.0)))
        return cls(gap=gap, start_ns=now_ns, length_ns=max(1, int(length_s * 1e9)))

    def left(self, now_ns: int) -> Array:
        """Return what remains of the gap, shape (width,)."""
        share = min(max((now_ns - self.start_ns) / self.length_ns, 0.0), 1.0)
        return self.gap * (1.0 - share * share * (3.0 - 2.0 * share))
