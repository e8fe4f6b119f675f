"""How a policy behaved, told from its numbers: what it asked for, what was sent, what the arm did.

A policy that answers in time and does nothing useful looks like any failure from outside. Four
ways are told apart, each with its own sentence: not finite, all zero, saturated, constant.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from interlock.messages import Event

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlock.operators.chunk_mix import Chunk
    from interlock.policies.runtime import Runtime
    from interlock.policies.vla.robot import RobotContract, Snapshot

    Array = NDArray[np.float64]

Kind = Literal["", "not_finite", "all_zero", "saturated", "constant"]
#: Chunks before zeros, constants or limits are called a habit.
HABIT = 2
#: Share of the arm's values at a limit from which a policy counts as saturated.
SATURATED_SHARE = 0.5
#: Numbers closer than this to each other, or to a limit, are equal.
EQUAL = 1e-4


@dataclass(slots=True)
class Span:
    """Range and last value of rows of numbers."""

    low: Array | None = None
    high: Array | None = None
    last: Array | None = None

    def add(self, rows: Array) -> None:
        """Take in rows, shape (n, width)."""
        low, high = rows.min(axis=0), rows.max(axis=0)
        self.low = low if self.low is None else np.minimum(self.low, low)
        self.high = high if self.high is None else np.maximum(self.high, high)
        self.last = rows[-1].copy()

    @property
    def travel(self) -> float:
        """The widest range of any column; 0 for nothing."""
        if self.low is None or self.high is None:
            return 0.0
        return float((self.high - self.low).max())

    def to_json(self) -> dict[str, Any]:
        """Return last value and travel."""
        last = [] if self.last is None else np.round(self.last, 4).tolist()
        return {"last": last, "travel": round(self.travel, 4)}


@dataclass(slots=True)
class Conduct:
    """What one policy did in one episode.

    Attributes:
        robot: Its limits.
        space: What the arm's columns are: joint or pose.
        width: How many columns are the arm's.
        requested: Absolute targets that the policy asked for.
        sent: Targets sent to the Gate; the seams between chunks are blended.
        measured: Where the arm was, in the same numbers.
        not_finite: The first answer that was not finite; empty if all were.
    """

    robot: RobotContract
    space: Literal["joint", "pose"]
    width: int
    requested: Span = field(default_factory=Span)
    sent: Span = field(default_factory=Span)
    measured: Span = field(default_factory=Span)
    not_finite: str = ""
    chunks: int = 0
    refused: int = 0
    _raw: Span = field(default_factory=Span)
    _at_limit: int = 0
    _values: int = 0

    def asked(self, chunk: Chunk) -> None:
        """Take in an answer that will be played."""
        arm = chunk.rows[:, : self.width]
        self.chunks += 1
        self.requested.add(arm)
        self._raw.add(chunk.raw)
        at_limit = self._limits(arm, chunk)
        self._at_limit += int(at_limit.sum())
        self._values += at_limit.size

    def saw(self, snapshot: Snapshot) -> None:
        """Take in where the arm is."""
        state = snapshot.state
        keys = (
            ("joint_position",) if self.space == "joint" else ("hand_position", "hand_orientation")
        )
        self.measured.add(np.concatenate([np.asarray(state[k], float) for k in keys])[np.newaxis])

    @property
    def kind(self) -> Kind:
        """What is wrong with its answers; empty when nothing stands out."""
        if self.not_finite:
            return "not_finite"
        if self.chunks < HABIT or self._raw.high is None or self._raw.low is None:
            return ""
        if float(np.abs([self._raw.low, self._raw.high]).max()) <= EQUAL:
            return "all_zero"
        if self._at_limit >= SATURATED_SHARE * self._values:
            return "saturated"
        return "constant" if self._raw.travel <= EQUAL else ""

    @property
    def sentence(self) -> str:
        """What is wrong, in one sentence with its figures; empty when nothing stands out."""
        said = {
            "": "",
            "not_finite": f"the policy's answers are not finite: {self.not_finite}",
            "all_zero": f"the policy answered only zeros, in all {self.chunks} chunks",
            "saturated": (
                f"the policy is saturated: {self._at_limit} of {self._values} values of its "
                f"{self.chunks} chunks are at or beyond a limit of the {self.robot.robot}"
            ),
            "constant": (
                f"the policy answered the same action every time, in all {self.chunks} chunks, "
                "whatever it saw"
            ),
        }[self.kind]
        return f"{said}; {self._figures()}" if said else ""

    def to_json(self) -> dict[str, Any]:
        """Return the kind, and requested, sent and measured values."""
        return {
            "conduct": self.kind,
            "refused": self.refused,
            "requested": self.requested.to_json(),
            "sent": self.sent.to_json(),
            "measured": self.measured.to_json(),
        }

    def report(self, runtime: Runtime) -> None:
        """Put it into the trace: a warning when something is wrong."""
        kind = "warning" if self.kind else "policy"
        text = self.sentence or f"the policy was played: {self._figures()}"
        runtime.send("event", Event(kind=kind, text=text, data=json.dumps(self.to_json())))

    def _figures(self) -> str:
        unit = "rad" if self.space == "joint" else "m or 1"
        refused = f", {self.refused} commands refused" if self.refused else ""
        return (
            f"it asked for targets over {self.requested.travel:.3f} {unit}, "
            f"{self.sent.travel:.3f} were sent{refused}, the arm moved {self.measured.travel:.3f}"
        )

    def _limits(self, arm: Array, chunk: Chunk) -> NDArray[np.bool_]:
        """Return which of the arm's values are at a limit: of the joints, their speed, or +-1."""
        if self.space == "pose":
            raw = np.abs(chunk.raw)
            # A normalised model that is clipped at 1; one with larger numbers is not normalised.
            clipped = np.abs(raw - 1.0) <= EQUAL
            return clipped if raw.max(initial=0.0) <= 1.0 + EQUAL else np.zeros_like(clipped)
        robot = self.robot
        beyond = (arm <= robot.joint_low + EQUAL) | (arm >= robot.joint_high - EQUAL)
        steps = np.abs(np.diff(arm, axis=0, prepend=arm[:1])) / (chunk.period_ns * 1e-9)
        return beyond | (steps >= robot.joint_speed)
