"""A batch of robots that step together: rows in, rows out, holds for whoever is silent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.robots.bridge.faults import BridgeError
from interlock.robots.bridge.robot import RobotBridge, check_observation
from interlock.robots.bridge.sims import Grades, View, as_contract, checked_prompt, read_pair

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Action = NDArray[np.float32]


class BatchSim:
    """One `RobotBridge` with ``num_slots`` rows."""

    independent = False

    def __init__(self, bridge: RobotBridge) -> None:
        if not bridge.num_slots or bridge.num_slots < 1:
            raise BridgeError(f"{type(bridge).__name__}: num_slots must be 1 or more")
        self._bridge = bridge
        self.slots = bridge.num_slots
        self.resets_slots = bridge.can_reset_slots
        self.contract = as_contract(bridge)
        self._grades = Grades()
        self._seen: tuple[Mapping[str, Any], Any] | None = None
        self._checked = False
        self._started = False

    def reset(self, slots: Sequence[int], task: Mapping[str, Any]) -> str:
        """Restart these slots, or all of them where the robot can't restart some."""
        for slot in slots:
            self._grades.start(slot)
        # Before its first whole reset a batch has no state to keep.
        whole = len(slots) == self.slots or not self._started
        self._seen, self._checked, self._started = None, False, True
        made = (
            self._bridge.reset(**task) if whole else self._bridge.reset_slots(tuple(slots), **task)
        )
        self.view(slots[0])
        return checked_prompt(made, self._bridge)

    def check(self, slot: int, action: Action) -> None:
        """Raise if a row can't execute an action."""
        self._bridge.check_action(action)

    def step(self, actions: Mapping[int, Action | None]) -> None:
        """Step every row; rows without an action hold."""
        rows = [actions.get(slot) for slot in range(self.slots)]
        held = [self._still(slot) if row is None else row for slot, row in enumerate(rows)]
        self._seen = None
        self._bridge.step(np.stack(held))
        for slot, action in actions.items():
            if action is not None:
                self._grades.executed(slot, action)

    def _still(self, slot: int) -> Action:
        """Return the hold action of a row; a batch must be given something."""
        held = self.hold(slot)
        if held is not None:
            return held
        feature = self.contract.action
        zero = np.zeros(feature.width or 1, np.float32)
        if feature.low is None or feature.high is None:
            return zero
        return np.clip(zero, feature.low, feature.high).astype(np.float32)

    def view(self, slot: int) -> View:
        """Return the row of a slot; one read of the robot serves every slot of a step."""
        if self._seen is None:
            self._seen = read_pair(self._bridge)
        data, terminated = self._seen
        if not self._checked:
            check_observation(self.contract, dict(data), batch=self.slots, where="batch")
            self._checked = True
        reward = data.get("reward")
        return View(
            data={name: _row(data[name], slot) for name in self.contract.observations},
            terminated=bool(np.asarray(terminated).reshape(-1)[slot]),
            reward=None if reward is None else float(np.asarray(reward).reshape(-1)[slot]),
        )

    def credit(self, slot: int, reward: float | None) -> None:
        """Count the reward of one step towards the grade."""
        self._grades.add(slot, reward)

    def result(self, slot: int) -> dict[str, Any]:
        """Return the grade of a slot's episode."""
        return self._grades.grade(slot, self._bridge.result(slot))

    def hold(self, slot: int) -> Action | None:
        """Return the action that keeps a slot where it is, if one is known."""
        return self._grades.hold(slot, self._bridge, self.contract)

    def robot(self, slot: int) -> RobotBridge:
        """Return the robot that all slots are rows of."""
        return self._bridge

    def close(self) -> None:
        """Close the robot."""
        self._bridge.close()


def _row(value: Any, slot: int) -> Any:
    return value if isinstance(value, str) else value[slot]
