"""Put the Gate for embodiments without a model in front of the robots of a bridge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interlock.gate.contract_robot import ContractGate, ContractLimits
from interlock.robots.bridge import Judgement

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlock.messages.columns import Vector
    from interlock.messages.contract import Feature


class GateAdmission:
    """One Gate per slot, so that an operator stop or a spent budget is a slot's own.

    Args:
        limits: What every action must satisfy.
    """

    def __init__(self, limits: ContractLimits) -> None:
        self._limits = limits
        self._gates: dict[int, ContractGate] = {}

    def gate(self, slot: int) -> ContractGate:
        """Return the Gate of a slot."""
        return self._gates.setdefault(slot, ContractGate(self._limits))

    def begin(self, slot: int, *, owner: str, now_ns: int) -> str:
        """Begin an episode; return why not, or nothing."""
        return self.gate(slot).begin(owner, now_ns)

    def end(self, slot: int) -> None:
        """End the episode of a slot."""
        self.gate(slot).end()

    def admit(
        self, action: NDArray[np.float32], *, slot: int, observed_ns: int, now_ns: int
    ) -> Judgement:
        """Return the Gate's verdict on one action, shape (width,)."""
        gate = self.gate(slot)
        verdict = gate.judge(action, owner=gate.owner, observed_ns=observed_ns, now_ns=now_ns)
        if verdict.admitted:
            return Judgement(action=action)
        return Judgement(action=None, codes=verdict.codes, message=verdict.sentence)


def limits_of(
    action: Feature, *, most_change: Vector | None = None, budget: int = 0
) -> ContractLimits:
    """Return the Gate's limits for the action of a contract; without limits any number passes.

    Args:
        action: The action feature.
        most_change: Largest change from one action to the next, shape (width,).
        budget: Actions allowed per episode; 0 has no limit.
    """
    width = action.width or 1
    # The wire carries float32: a limit rounds the way its actions do.
    low = np.full(width, -np.inf) if action.low is None else _as_sent(action.low)
    high = np.full(width, np.inf) if action.high is None else _as_sent(action.high)
    names = action.names or tuple(f"value {i}" for i in range(width))
    return ContractLimits(names=names, low=low, high=high, most_change=most_change, budget=budget)


def _as_sent(limit: Vector) -> Vector:
    return limit.astype(np.float32).astype(np.float64)
