"""When episodes begin and end, and which observation and action make a row of one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from interlock.messages import Grant, Result, TaskRequest, Verdict
    from interlock.nodes._bridge_door import Sight
    from interlock.operators.lerobot_dataset import EpisodeRecorder

#: How long after the end of a task its Result is waited for, in ns.
RESULT_NS = 4_000_000_000
_MAX_NAMES = 1000


class Starter(Protocol):
    """Opens episodes; `DatasetWriter` is one."""

    def episode(self, task: str, *, seed: int | None = None) -> EpisodeRecorder:
        """Start an episode."""


@dataclass(slots=True, kw_only=True)
class _Open:
    """The episode under way.

    Attributes:
        token: Task token of the Gate, or the owner's name when the whole run is one episode.
        source: Node that owns the task; its Result ends the episode.
        ended_ns: When the task ended and only its Result is waited for; 0 before.
        before: The observation that the next set-point will be the action for.
        held_back: The newest row: only when the next one comes is it known not to be the last.
    """

    recorder: EpisodeRecorder
    task: str
    token: str
    source: str
    due_ns: int = 0
    ended_ns: int = 0
    before: Sight | None = None
    reward: float = 0.0
    total: float = 0.0
    rows: int = 0
    refused: Mapping[str, Any] | None = None
    held_back: dict[str, Any] | None = None
    verdicts: Counter[str] = field(default_factory=Counter)


class Recording:
    """Turns the messages of a dataflow into episodes.

    The action of a row is the set-point of joints and fingers one period later: what the arm was
    told, whatever form the command had.

    Args:
        starter: Where episodes go.
        period_ns: Time from row to row.
        whole: True to make one episode of everything from the first task to the end of its owner.
        task: Task text of every episode; empty takes the name of the task.
        seed: Seed of the run.
    """

    def __init__(
        self, starter: Starter, *, period_ns: int, whole: bool, task: str, seed: int
    ) -> None:
        self._starter, self._period_ns = starter, period_ns
        self._whole, self._task, self._seed = whole, task, seed
        self._requests: dict[tuple[str, str], tuple[str, str]] = {}
        self._open: _Open | None = None
        #: One line for every episode that has ended since it was read last.
        self.told: list[str] = []

    def on_request(self, request: TaskRequest, source: str) -> None:
        """Remember what a task is called."""
        key = (request.owner, request.request)
        self._requests[key] = (request.name, source)
        if len(self._requests) > _MAX_NAMES:
            self._requests.pop(next(iter(self._requests)))

    def on_grant(self, grant: Grant, now_ns: int) -> None:
        """Begin an episode with a task, and stop adding to it when the task has ended."""
        one = self._open
        if grant.state == "granted":
            self._begin(grant)
        elif one is not None and not self._whole and grant.task == one.token:
            over = grant.state in ("ended", "revoked")
            one.ended_ns = one.ended_ns or (now_ns if over else 0)

    def on_result(self, result: Result, source: str) -> None:
        """End the episode of a task with how it went."""
        one = self._open
        if one is None or source != one.source:
            return
        if one.ended_ns or (self._whole and _is_program(result)):
            self.end(success=result.status == "succeeded", reason=result.reason)

    def on_verdict(self, verdict: Verdict) -> None:
        """Count a verdict; a refusal marks the row that it falls into."""
        one = self._open
        if one is None:
            return
        one.verdicts["admitted" if verdict.admitted else "refused"] += 1
        if not verdict.admitted:
            one.refused = {
                "admitted": False,
                "codes": list(verdict.codes),
                "message": verdict.sentence,
            }

    def on_reward(self, reward: float) -> None:
        """Add a reward to the row under way."""
        if self._open is not None:
            self._open.reward += reward

    def wants(self, state_ns: int) -> bool:
        """Return True when a row is due at the time of a state: only then is it worth a look."""
        one = self._open
        return one is not None and not one.ended_ns and state_ns >= one.due_ns

    def on_sight(self, sight: Sight) -> None:
        """Make a row when a period has passed."""
        one = self._open
        if one is None or one.ended_ns:
            return
        if one.before is None:
            one.before, one.due_ns = sight, sight.state_ns + self._period_ns
        elif sight.state_ns >= one.due_ns:
            self._row(one, one.before, sight)
            late = max(0, sight.state_ns - one.due_ns)
            one.due_ns += self._period_ns * (1 + late // self._period_ns)
            one.before = sight

    def tick(self, now_ns: int) -> None:
        """End an episode whose Result does not come."""
        one = self._open
        if one is not None and one.ended_ns and now_ns - one.ended_ns > RESULT_NS:
            self.end(success=None, reason="no result came")

    def end(self, *, success: bool | None, reason: str = "") -> None:
        """End the episode under way, if there is one."""
        one, self._open = self._open, None
        if one is None:
            return
        if not one.rows:
            one.recorder.abort()
            return
        self._flush(one, last=success is not None)
        terminal = None if one.before is None else dict(one.before.features)
        outcome: dict[str, Any] = {
            "total_reward": one.total,
            "verdicts": dict(one.verdicts),
            "reason": reason,
        }
        if success is not None:
            outcome |= {"success": success, "score": float(success)}
        one.recorder.end(terminal, **outcome)
        graded = {True: "success", False: "no success", None: "not graded"}[success]
        self.told.append(f"recorded {one.task!r}: {one.rows} frames, {graded}")

    def drop(self) -> None:
        """Drop the episode under way: it can't be recorded."""
        one, self._open = self._open, None
        if one is not None:
            one.recorder.abort()

    def _begin(self, grant: Grant) -> None:
        one = self._open
        if one is not None and (self._whole or one.token == grant.task):
            return
        self.end(success=None, reason="another task began")
        name, source = self._requests.get((grant.owner, grant.request), ("", grant.owner))
        text = self._task or name or "task"
        self._open = _Open(
            recorder=self._starter.episode(text, seed=self._seed),
            task=text,
            token=grant.task,
            source=source,
        )

    def _row(self, one: _Open, seen: Sight, after: Sight) -> None:
        reward, one.reward = one.reward, 0.0
        refused, one.refused = one.refused, None
        one.total += reward
        one.rows += 1
        self._flush(one, last=False)
        one.held_back = {
            "data": seen.features,
            "action": set_point(after),
            "observed_ns": seen.observed_ns,
            "reward": reward,
            "verdict": refused,
        }

    def _flush(self, one: _Open, *, last: bool) -> None:
        if one.held_back is not None:
            one.recorder.add(**one.held_back, terminated=last)
            one.held_back = None


def set_point(sight: Sight) -> NDArray[np.float32]:
    """Return what the arm is told: joints in rad, then the width between the fingers in m."""
    told = [*sight.state.commanded_position, sight.state.gripper_target_m]
    return np.array(told, np.float32)


def _is_program(result: Result) -> bool:
    """Return True for the Result of a node's whole program, which is its first task."""
    return result.goal.rpartition("/")[2] == "1"
