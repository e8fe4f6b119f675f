"""A Gate for embodiments known only by a contract: an action vector with bounds, no geometry.

For a gym environment, a simulator behind the bridge, or a robot whose model nobody has, this makes
the checks that make sense: shape, finite, bounds, rate of change, age of the data, owner, budget,
operator stop. It cannot know what the vector moves, so it says nothing about paths or people.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from interlock.gate.decision import Reason, sentence_of
from interlock.gate.errors import GateConfigError
from interlock.gate.latch import Latch

if TYPE_CHECKING:
    from interlock.messages.columns import Vector
    from interlock.messages.task import Event, Reset, Stop


@dataclass(frozen=True, kw_only=True)
class ContractLimits:
    """What an action vector must satisfy.

    Attributes:
        names: Name of each entry, in order.
        low: Smallest values, shape (n,).
        high: Largest values, shape (n,).
        most_change: Largest change from one action to the next, shape (n,); None has no limit.
        max_age_ms: Largest age of the observation that the action rests on, in ms.
        budget: Actions allowed per episode; 0 has no limit.
        lease_ms: The owner must be heard from at least this often, in ms; 0 has no limit, as in
            lockstep environments, where nothing moves between two actions.
    """

    names: tuple[str, ...]
    low: Vector
    high: Vector
    most_change: Vector | None = None
    max_age_ms: float = 1000.0
    budget: int = 0
    lease_ms: int = 0

    def __post_init__(self) -> None:
        rows = {"low": self.low, "high": self.high}
        if self.most_change is not None:
            rows["most_change"] = self.most_change
        for name, row in rows.items():
            value = np.asarray(row)
            if value.shape != (len(self.names),) or value.dtype.kind not in "fiu":
                raise GateConfigError(
                    f"{name}: expected {len(self.names)} numbers, one per action entry, "
                    f"got shape {value.shape}"
                )
            if np.isnan(value).any():
                raise GateConfigError(f"{name}: expected numbers, got NaN")
        if not (np.asarray(self.low) <= np.asarray(self.high)).all():
            raise GateConfigError("low: expected at most high in every entry")
        if self.most_change is not None and not (np.asarray(self.most_change) > 0).all():
            raise GateConfigError("most_change: expected above 0 in every entry")
        if not self.max_age_ms > 0 or self.budget < 0 or self.lease_ms < 0:
            raise GateConfigError("max_age_ms, budget, lease_ms: expected 0 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractVerdict:
    """The answer to one action.

    Attributes:
        admitted: Whether it may be executed.
        codes: Machine-readable reasons; empty when admitted.
        sentence: What was wrong and the way out; empty when admitted.
        nearest: Nearest acceptable action, shape (n,); None when there is none.
    """

    admitted: bool
    codes: tuple[str, ...] = ()
    sentence: str = ""
    nearest: Vector | None = None


class ContractGate:
    """Decides every action of one embodiment for one owner at a time."""

    def __init__(self, limits: ContractLimits) -> None:
        self.limits = limits
        self.owner = ""
        self._latch = Latch()
        self._last: Vector | None = None
        self._used = 0
        self._heard_ns = 0

    def begin(self, owner: str, now_ns: int) -> str:
        """Begin an episode for an owner; return why not, or nothing."""
        if self._latch.reason is not None:
            return self._latch.reason.sentence
        self._not_owner(owner, now_ns)  # an owner that fell silent has lost its episode
        if self.owner not in ("", owner):
            return f"{self.owner} has the episode; wait until it ends"
        self.owner, self._last, self._used, self._heard_ns = owner, None, 0, now_ns
        return ""

    def end(self) -> None:
        """End the episode: no action is accepted until another begins."""
        self.owner, self._last = "", None

    def heartbeat(self, owner: str, now_ns: int) -> None:
        """Note that the owner is alive."""
        if owner == self.owner:
            self._heard_ns = max(self._heard_ns, now_ns)

    def stop(self, stop: Stop) -> list[Event]:
        """Operator stop: latches and ends the episode."""
        self.end()
        return self._latch.press(stop)

    def reset(self, reset: Reset) -> list[Event]:
        """Release the operator stop; an episode must be begun anew."""
        return self._latch.release(reset)

    def judge(
        self, action: object, *, owner: str, observed_ns: int, now_ns: int
    ) -> ContractVerdict:
        """Decide one action. Never raises.

        Args:
            action: The vector; anything at all.
            owner: Who sends it.
            observed_ns: When what it rests on was observed, in ns.
            now_ns: Time on the clock that the owner is judged by, in ns.
        """
        reasons = [r for r in (self._latch.reason, self._not_owner(owner, now_ns)) if r]
        age_ms = (now_ns - observed_ns) / 1e6
        if not -self.limits.max_age_ms <= age_ms <= self.limits.max_age_ms:
            reasons.append(_stale(age_ms, self.limits.max_age_ms))
        if self.limits.budget and self._used >= self.limits.budget:
            reasons.append(_spent(self.limits.budget))
        vector, wrong = self._vector(action)
        nearest = None
        if wrong is not None:
            reasons.append(wrong)
        elif vector is not None:
            found = [r for r in (self._bounds(vector), self._change(vector)) if r]
            nearest = self._nearest(vector) if found and not reasons else None
            reasons += found
        if reasons:
            codes = tuple(r.code for r in reasons)
            return ContractVerdict(
                admitted=False, codes=codes, sentence=sentence_of(tuple(reasons)), nearest=nearest
            )
        self._last, self._used, self._heard_ns = vector, self._used + 1, now_ns
        return ContractVerdict(admitted=True)

    def _not_owner(self, owner: str, now_ns: int) -> Reason | None:
        silent_ms = (now_ns - self._heard_ns) / 1e6
        if self.owner and self.limits.lease_ms and not silent_ms <= self.limits.lease_ms:
            self.end()
        if owner and owner == self.owner:
            return None
        return Reason(
            code="not_owner",
            sentence=f"{owner or 'Nobody'} has no episode here",
            way_out="Begin an episode first.",
        )

    def _vector(self, action: object) -> tuple[Vector | None, Reason | None]:
        try:
            value = np.asarray(action)
            if value.dtype.kind not in "fiu":
                return None, _malformed(f"expected numbers, got {value.dtype}")
            if value.shape != (len(self.limits.names),):
                expected = (len(self.limits.names),)
                return None, _malformed(f"expected shape {expected}, got {value.shape}")
            vector = value.astype(np.float64)
        except Exception as error:
            return None, _malformed(f"it can't be read: {type(error).__name__}")
        if not np.isfinite(vector).all():
            name = self.limits.names[int(np.argmin(np.isfinite(vector)))]
            return None, _malformed(f"{name} is not finite")
        return vector, None

    def _bounds(self, vector: Vector) -> Reason | None:
        low, high = np.asarray(self.limits.low), np.asarray(self.limits.high)
        bad = ~((vector >= low) & (vector <= high))
        if not bad.any():
            return None
        i = int(np.argmax(bad))
        name = self.limits.names[i]
        return Reason(
            code="out_of_bounds",
            sentence=f"{name} is {vector[i]:g}, allowed is {low[i]:g} to {high[i]:g}",
            way_out=f"Keep {name} inside its bounds.",
        )

    def _change(self, vector: Vector) -> Reason | None:
        most = self.limits.most_change
        if most is None or self._last is None:
            return None
        change = np.abs(vector - self._last)
        bad = ~(change <= np.asarray(most) * (1 + 1e-9))
        if not bad.any():
            return None
        i = int(np.argmax(bad))
        return Reason(
            code="rate_of_change",
            sentence=(
                f"{self.limits.names[i]} would change by {change[i]:g} in one action, "
                f"the limit is {most[i]:g}"
            ),
            way_out="Change it in smaller steps.",
        )

    def _nearest(self, vector: Vector) -> Vector:
        found = np.clip(vector, self.limits.low, self.limits.high)
        if self.limits.most_change is not None and self._last is not None:
            most = np.asarray(self.limits.most_change)
            found = np.clip(found, self._last - most, self._last + most)
        return found


def _malformed(problem: str) -> Reason:
    return Reason(code="malformed", sentence=f"The action is malformed: {problem}")


def _stale(age_ms: float, limit_ms: float) -> Reason:
    return Reason(
        code="stale_data",
        sentence=f"The action rests on data {age_ms:.0f} ms old, the limit is {limit_ms:.0f} ms",
        way_out="Compute it again from a newer observation.",
    )


def _spent(budget: int) -> Reason:
    return Reason(
        code="budget",
        sentence=f"The episode's budget of {budget} actions is used up",
        way_out="Begin another episode.",
    )
