"""The arm of a dataflow as a robot of the bridge: every action asks the Gate of the dataflow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlock.robots.bridge import BridgeError, Judgement, RobotBridge

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from interlock.messages import Verdict
    from interlock.messages.contract import Contract
    from interlock.nodes._bridge_door import Door, Sight


class DataflowArm(RobotBridge):
    """Robot and admission in one; every method runs on the bridge's own thread.

    Args:
        contract: What the arm shows and takes.
        door: The way to the node.
        period_ns: Time of one action.
        waits: True to show the arm when an action has been carried out, False when it has begun.
        begin: Told the prompt of each episode.
        prompt: What a client is there for unless it says so.
    """

    def __init__(
        self,
        contract: Contract,
        door: Door,
        *,
        period_ns: int,
        waits: bool,
        begin: Callable[[str], None],
        prompt: str = "",
    ) -> None:
        self._contract, self._door = contract, door
        self._period_ns, self._waits = period_ns, waits
        self._begin, self._prompt = begin, prompt
        self._enough: Callable[[Sight], bool] = lambda _: True
        self._seen: Sight | None = None

    def describe(self) -> Contract:
        """Return the contract."""
        return self._contract

    def reset(self, **task: Any) -> str:
        """Start an episode where the arm is; a real arm has no other place to start from."""
        unknown = [name for name in task if name != "prompt"]
        if unknown or not isinstance(task.get("prompt", ""), str):
            raise BridgeError(
                f"reset takes a prompt as text, got {', '.join(unknown) or 'another type'}; "
                "the arm starts where it stands"
            )
        prompt: str = task.get("prompt") or self._prompt
        self._enough = lambda _: True
        self._begin(prompt)
        return prompt

    def attached(self, slot: int, owner: str) -> None:
        """Ask the Gate for the arm."""
        self._door.enter(owner)

    def detached(self, slot: int, owner: str) -> None:
        """Give the arm back: it comes to rest."""
        self._door.leave(owner)

    def begin(self, slot: int, *, owner: str, now_ns: int) -> str:
        """Let every episode begin; the Gate is asked when its client comes."""
        return ""

    def end(self, slot: int) -> None:
        """Keep nothing of an episode."""

    def admit(
        self, action: NDArray[np.float32], *, slot: int, observed_ns: int, now_ns: int
    ) -> Judgement:
        """Ask the Gate of the dataflow about an action, shape (width,)."""
        basis = () if self._seen is None else self._seen.basis
        verdict, start_ns = self._door.ask(action, basis)
        if verdict.admitted:
            self._enough = self._carried_out(verdict, start_ns)
            return Judgement(action=action, codes=verdict.codes, message=verdict.sentence)
        if self._waits:
            after_ns = self._door.see().state_ns + self._period_ns
            self._enough = lambda sight: sight.state_ns >= after_ns
        return Judgement(action=None, codes=verdict.codes, message=verdict.sentence)

    def step(self, action: NDArray[np.float32]) -> None:
        """Nothing to send: what was admitted is on its way, and holding is the arm's own stop."""

    def get_observation(self) -> tuple[Mapping[str, Any], bool]:
        """Return what there is to see once the last action shows."""
        self._seen = self._door.see(self._enough)
        return dict(self._seen.features), False

    def observed_ns(self, slot: int) -> int | None:
        """Return when it was so."""
        return None if self._seen is None else self._seen.observed_ns

    def _carried_out(self, verdict: Verdict, start_ns: int) -> Callable[[Sight], bool]:
        number, end_ns = verdict.number, start_ns + self._period_ns

        def begun(sight: Sight) -> bool:
            return sight.state.executing >= number or sight.state_ns >= end_ns

        def done(sight: Sight) -> bool:
            return sight.state_ns >= end_ns and sight.state.phase == "hold"

        return done if self._waits else begun
