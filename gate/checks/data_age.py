"""Refuse a command that rests on old observations, or when the Gate's own view is old.

The age is that of the observation, not of the message that carried it: a policy that answers every
20 ms from a picture of five seconds ago is five seconds old.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from interlock.gate.decision import Finding, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interlock.gate.proposal import Proposal


@dataclass(frozen=True, kw_only=True)
class DataAge:
    """Largest ages.

    Attributes:
        max_age_ms: Largest age of any observation in the command's basis, in ms.
        max_state_age_ms: Largest age of the robot state that the Gate itself has, in ms.
        by_input: Largest age by origin, e.g. ``{"camera/image": 300}``, in ms.
        require_basis: True when a command must say what it was computed from.
    """

    name: ClassVar[str] = "data_age"
    stage: ClassVar[str] = "data"
    needs_plan: ClassVar[bool] = False

    max_age_ms: float = 500.0
    max_state_age_ms: float = 100.0
    by_input: dict[str, float] = field(default_factory=dict)
    require_basis: bool = False

    def __post_init__(self) -> None:
        limits = {"max_age_ms": self.max_age_ms, "max_state_age_ms": self.max_state_age_ms}
        for name, value in {**limits, **self.by_input}.items():
            if not 0 < value < float("inf"):
                raise ValueError(f"{name}: expected an age above 0 ms, got {value}")

    def __call__(self, proposal: Proposal) -> Iterator[Finding]:
        """Yield the margin of every age, in ms."""
        now_ns = proposal.now_ns
        yield self._state(proposal.state_observed_ns, now_ns)
        if self.require_basis and not proposal.basis:
            yield Finding(
                name="basis",
                reason=Reason(
                    code="no_basis",
                    sentence="The command does not say what it was computed from",
                    way_out="Send it with the messages it rests on as basis.",
                ),
            )
        for entry in proposal.basis:
            origin = f"{entry.source}/{entry.output}"
            limit_ms = self.by_input.get(origin, self.max_age_ms)
            yield _finding(origin, (now_ns - entry.observed_ns) / 1e6, limit_ms, "stale_data")

    def _state(self, observed_ns: int | None, now_ns: int) -> Finding:
        if observed_ns is None:
            return Finding(
                name="robot_state",
                reason=Reason(
                    code="no_state",
                    sentence="The Gate has not received the robot's state yet",
                    way_out="Wait until the Gate's status is ready.",
                ),
            )
        age_ms = (now_ns - observed_ns) / 1e6
        return _finding("robot_state", age_ms, self.max_state_age_ms, "stale_state")


def _finding(origin: str, age_ms: float, limit_ms: float, code: str) -> Finding:
    reason = None
    # An observation from the future is a broken clock, not fresh data.
    if not -limit_ms <= age_ms <= limit_ms:
        reason = Reason(
            code=code,
            sentence=f"{origin} was observed {age_ms:.0f} ms ago, the limit is {limit_ms:.0f} ms",
            way_out="Compute the command again from a newer observation.",
            value=age_ms,
            limit=limit_ms,
        )
    return Finding(name=origin, margin=limit_ms - abs(age_ms), reason=reason, age_ms=age_ms)
