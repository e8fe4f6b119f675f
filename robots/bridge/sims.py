"""One face for one robot, several separate ones, and a batch that steps together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from interlock.messages.contract import Contract
from interlock.robots.bridge.faults import BridgeError
from interlock.robots.bridge.robot import RobotBridge, check_observation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Action = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What one slot sees.

    Attributes:
        data: Features by their key on the wire.
        terminated: Whether the episode of the slot ended.
        reward: Reward of the last step, or None if the robot gives none.
    """

    data: Mapping[str, Any]
    terminated: bool
    reward: float | None


class Sims(Protocol):
    """The robots behind a bridge, addressed by slot."""

    contract: Contract
    slots: int
    independent: bool
    resets_slots: bool

    def reset(self, slots: Sequence[int], task: Mapping[str, Any]) -> str:
        """Start an episode on these slots and return the prompt."""
        ...

    def check(self, slot: int, action: Action) -> None:
        """Raise if a slot can't execute an action."""
        ...

    def step(self, actions: Mapping[int, Action | None]) -> None:
        """Execute one action on each of these slots; None sends nothing."""
        ...

    def view(self, slot: int) -> View:
        """Return what a slot sees now."""
        ...

    def credit(self, slot: int, reward: float | None) -> None:
        """Count the reward of one step towards the grade."""
        ...

    def result(self, slot: int) -> dict[str, Any]:
        """Return the grade of a slot's episode."""
        ...

    def hold(self, slot: int) -> Action | None:
        """Return the action that keeps a slot where it is; None if that is to send nothing."""
        ...

    def robot(self, slot: int) -> RobotBridge:
        """Return the robot of a slot; a batch is one for all."""
        ...

    def close(self) -> None:
        """Close every robot."""
        ...


class Grades:
    """Adds up reward and notices the end, for robots that do not grade themselves."""

    def __init__(self) -> None:
        self._total: dict[int, float] = {}
        self._last: dict[int, Action] = {}

    def start(self, slot: int) -> None:
        """Forget the previous episode of a slot."""
        self._total[slot] = 0.0
        self._last.pop(slot, None)

    def add(self, slot: int, reward: float | None) -> None:
        """Add the reward of one step."""
        self._total[slot] = self._total.get(slot, 0.0) + (reward or 0.0)

    def executed(self, slot: int, action: Action) -> None:
        """Remember the last action a slot executed."""
        self._last[slot] = action

    def grade(self, slot: int, own: Mapping[str, Any]) -> dict[str, Any]:
        """Return score, success and total reward; what the robot says itself comes first."""
        total = self._total.get(slot, 0.0)
        success = own.get("success")
        score = float(own.get("score", total if success is None else float(bool(success))))
        grade = {"score": score, "success": bool(success), "total_reward": total}
        return {**own, **grade, **{k: own[k] for k in ("total_reward",) if k in own}}

    def hold(self, slot: int, bridge: RobotBridge, contract: Contract) -> Action | None:
        """Return the hold action: the robot's own, the last absolute target, or no movement.

        None where targets are absolute and none was sent yet: any number would be a jump.
        """
        own = bridge.hold_action(slot)
        if own is not None:
            return np.asarray(own, np.float32)
        feature = contract.action
        if feature.is_absolute:
            return self._last.get(slot)
        zero = np.zeros(feature.width or 1, np.float32)
        if feature.low is None or feature.high is None:
            return zero
        return np.clip(zero, feature.low, feature.high).astype(np.float32)


class SeparateSims:
    """N robots that step and reset on their own; nobody waits for anybody."""

    independent = True
    resets_slots = True

    def __init__(self, bridges: Sequence[RobotBridge]) -> None:
        self._bridges = list(bridges)
        self.slots = len(self._bridges)
        self.contract = as_contract(self._bridges[0])
        self._grades = Grades()
        self._checked: set[int] = set()

    def reset(self, slots: Sequence[int], task: Mapping[str, Any]) -> str:
        """Start an episode on these slots."""
        prompt = ""
        for slot in slots:
            self._grades.start(slot)
            self._checked.discard(slot)
            prompt = checked_prompt(self._bridges[slot].reset(**task), self._bridges[slot])
            self.view(slot)
        return prompt

    def check(self, slot: int, action: Action) -> None:
        """Raise if a slot can't execute an action."""
        self._bridges[slot].check_action(action)

    def step(self, actions: Mapping[int, Action | None]) -> None:
        """Execute one action on each of these slots; None sends nothing."""
        for slot, action in actions.items():
            if action is not None:
                self._bridges[slot].step(action)
                self._grades.executed(slot, action)

    def view(self, slot: int) -> View:
        """Return what a slot sees; the first view of an episode is checked whole."""
        data, terminated = read_pair(self._bridges[slot])
        if slot not in self._checked:
            check_observation(self.contract, dict(data), batch=None, where=f"slot {slot}")
            self._checked.add(slot)
        reward = data.get("reward")
        features = {name: data[name] for name in self.contract.observations}
        value = None if reward is None else float(reward)
        return View(data=features, terminated=bool(terminated), reward=value)

    def credit(self, slot: int, reward: float | None) -> None:
        """Count the reward of one step towards the grade."""
        self._grades.add(slot, reward)

    def result(self, slot: int) -> dict[str, Any]:
        """Return the grade of a slot's episode."""
        return self._grades.grade(slot, self._bridges[slot].result(0))

    def hold(self, slot: int) -> Action | None:
        """Return the action that keeps a slot where it is; None if that is to send nothing."""
        return self._grades.hold(slot, self._bridges[slot], self.contract)

    def robot(self, slot: int) -> RobotBridge:
        """Return the robot of a slot."""
        return self._bridges[slot]

    def close(self) -> None:
        """Close every robot."""
        for bridge in self._bridges:
            bridge.close()


def as_contract(bridge: RobotBridge) -> Contract:
    """Return the checked contract of a robot."""
    described = bridge.describe()
    if isinstance(described, Contract):
        return described
    return Contract.from_json(dict(described), where=type(bridge).__name__)


def checked_prompt(value: object, bridge: RobotBridge) -> str:
    """Return the prompt a robot gave, if it is text."""
    if not isinstance(value, str):
        name = type(bridge).__name__
        raise BridgeError(
            f"{name}.reset must return the prompt as text, got {type(value).__name__}"
        )
    return value


def read_pair(bridge: RobotBridge) -> tuple[Mapping[str, Any], Any]:
    """Read a robot once and return ``(data, terminated)``."""
    seen = bridge.get_observation()
    if not isinstance(seen, tuple) or len(seen) != 2:
        raise BridgeError(f"{type(bridge).__name__}.get_observation must return (data, terminated)")
    return seen
