"""Judge each action before the robot takes it; the Gate plugs in here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from interlock.messages.contract import Feature


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What becomes of one action.

    Attributes:
        action: What the robot executes, shape (width,); None if the action is refused.
        codes: Machine-readable reasons; empty if the action passed as it came.
        message: One sentence a model can act on.
    """

    action: NDArray[np.float32] | None
    codes: tuple[str, ...] = ()
    message: str = ""

    def to_wire(self) -> Mapping[str, Any]:
        """Return the verdict as it stands in ``meta`` of the next observation."""
        if not self.codes:
            return {"admitted": self.action is not None}
        return {
            "admitted": self.action is not None,
            "codes": list(self.codes),
            "message": self.message,
        }


class Admission(Protocol):
    """Decides about every action of every client; runs on the robot's own thread."""

    def begin(self, slot: int, *, owner: str, now_ns: int) -> str:
        """Begin an episode of an owner; return why it may not begin, or nothing."""
        ...

    def end(self, slot: int) -> None:
        """End the episode of a slot."""
        ...

    def admit(
        self, action: NDArray[np.float32], *, slot: int, observed_ns: int, now_ns: int
    ) -> Judgement:
        """Judge a finite action of the right width, shape (width,).

        Args:
            action: What the client sent.
            slot: Which robot it is for.
            observed_ns: When the world was as the client saw it; in lockstep the world has stood
                still since, so it is now.
            now_ns: The robot's clock.
        """
        ...


class ContractCheck:
    """Admission for a robot known only by its contract: finite, and inside the limits.

    Args:
        feature: The action feature of the contract.
        on_limit: Refuse an action outside its limits, or clip it to them.
    """

    def __init__(self, *, feature: Feature, on_limit: Literal["refuse", "clip"] = "refuse") -> None:
        self._names = feature.names
        self._clips = on_limit == "clip"
        width = feature.width or 1
        unbounded = np.full(width, np.inf)
        # Limits are float64 in the contract, the action float32: compare as the wire carries it.
        self._low = (-unbounded if feature.low is None else feature.low).astype(np.float32)
        self._high = (unbounded if feature.high is None else feature.high).astype(np.float32)

    def begin(self, slot: int, *, owner: str, now_ns: int) -> str:
        """Let every episode begin: who owns a slot is the bridge's own matter."""
        return ""

    def end(self, slot: int) -> None:
        """Keep nothing of an episode."""

    def admit(
        self, action: NDArray[np.float32], *, slot: int, observed_ns: int, now_ns: int
    ) -> Judgement:
        """Judge one action, shape (width,)."""
        inside = (action >= self._low) & (action <= self._high) & np.isfinite(action)
        if inside.all():
            return Judgement(action=action)
        at = int(np.argmin(inside))
        name = self._names[at] if at < len(self._names) else f"value {at}"
        message = f"{name}={action[at]:g} is outside [{self._low[at]:g}, {self._high[at]:g}]"
        if self._clips and np.isfinite(action).all():
            clipped = np.clip(action, self._low, self._high)
            return Judgement(action=clipped, codes=("clipped",), message=message)
        return Judgement(action=None, codes=("outside_limits",), message=message)
