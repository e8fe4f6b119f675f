"""The class a user writes to put a simulator or a robot behind the bridge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from interlock.robots.bridge.faults import BridgeError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from interlock.messages.contract import Contract

#: Per-step values of an observation that are no features.
SIBLINGS = ("reward", "terminated", "truncated")


class RobotBridge:
    """A robot as the bridge drives it; every method runs on the robot's own thread.

    A subclass sets ``contract`` (or overrides `describe`) and writes `reset`, `step` and
    `get_observation`. With ``num_slots = N`` it is N robots stepped together: every array gets a
    leading dimension N, and `step` always receives actions of all of them.

    Attributes:
        contract: What the robot shows and accepts, as a dict or a `Contract`.
        num_slots: None for one robot without a batch dimension, else how many step together.
    """

    contract: ClassVar[Mapping[str, Any] | Contract | None] = None
    num_slots: int | None = None

    def describe(self) -> Mapping[str, Any] | Contract:
        """Return the contract; the default is the class attribute."""
        if self.contract is None:
            raise BridgeError(f"{type(self).__name__}: set `contract` or override describe()")
        return self.contract

    def reset(self, **task: Any) -> str:
        """Start an episode of a task and return its prompt."""
        raise NotImplementedError

    def step(self, action: NDArray[np.float32]) -> None:
        """Execute one action, shape (width,), or (num_slots, width) for a batch."""
        raise NotImplementedError

    def check_action(self, action: NDArray[np.float32]) -> None:
        """Raise if the action of one robot, shape (width,), can't be executed (optional).

        Called before `step`, so that a bad action of one client does not end the others of a
        batch.
        """

    def get_observation(self) -> tuple[Mapping[str, Any], Any]:
        """Return the features and whether the episode ended: ``(data, terminated)``.

        ``data`` holds exactly the observation features of the contract, and may hold ``reward``.
        """
        raise NotImplementedError

    def reset_slots(self, slots: Sequence[int], **task: Any) -> str:
        """Restart some robots of a batch while the others keep their state (optional)."""
        raise NotImplementedError

    def result(self, slot: int) -> Mapping[str, Any]:
        """Return ``score``, ``success`` and whatever else grades the episode of a slot."""
        return {}

    def hold_action(self, slot: int) -> NDArray[np.float32] | None:
        """Return the action that keeps a robot where it is; None lets the contract decide."""
        return None

    def attached(self, slot: int, owner: str) -> None:
        """Take note that a client claimed an episode; raise to turn it away (optional)."""

    def detached(self, slot: int, owner: str) -> None:
        """Take note that the client of an episode went away (optional)."""

    def observed_ns(self, slot: int) -> int | None:
        """Return when the world was as the last observation says; None when it was read now."""
        return None

    def close(self) -> None:
        """Give up what the robot holds."""

    @property
    def can_reset_slots(self) -> bool:
        """True if a subclass wrote `reset_slots`."""
        return type(self).reset_slots is not RobotBridge.reset_slots


def check_observation(
    contract: Contract, data: Mapping[str, Any], *, batch: int | None, where: str
) -> None:
    """Check that an observation holds what the contract declares.

    Raises:
        BridgeError: Missing or undeclared features, a wrong shape or dtype, NaN; it names each.
    """
    if not isinstance(data, dict):
        raise BridgeError(f"{where}: get_observation must return a dict, got {type(data).__name__}")
    declared = contract.observations
    missing = [name for name in declared if name not in data]
    extra = [name for name in data if name not in declared and name not in SIBLINGS]
    problems = []
    if missing:
        problems.append(f"missing {', '.join(missing)}")
    if extra:
        problems.append(f"not in the contract: {', '.join(extra)}")
    for name, feature in declared.items():
        if name not in data:
            continue
        value = data[name]
        if batch is not None and not isinstance(value, list | tuple | str):
            array = np.asarray(value)
            if array.ndim == 0 or array.shape[0] != batch:
                problems.append(f"{name}: shape {list(array.shape)} has no leading {batch}")
                continue
            value = array[0]
        problems.extend(feature.problems(value))
    if problems:
        raise BridgeError(f"{where}: observation does not fit the contract: {'; '.join(problems)}")
