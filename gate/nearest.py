"""The acceptable command nearest to one that is refused: the same way, less far or more slowly."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from interlock.gate import pose

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from interlock.gate.judgement import Assessment, Judge, Question
    from interlock.messages.columns import Matrix, Vector
    from interlock.messages.command import Command

#: Reasons that a longer period can take away.
_TOO_FAST = {"joint_velocity", "row_unreachable", "tool_speed", "joint_acceleration", "recovery"}
#: Reasons that going less far can take away.
_TOO_FAR = {"joint_range", "workspace", "unreachable_pose", "separation"}
_BISECTIONS = 3
#: For longer commands none is looked for: each candidate costs as much time as the command did,
#: and an operator's stop waits for the verdict.
MOST_ROWS = 200
_LONGEST_ROW_NS = 5_000_000_000


def nearest_acceptable(
    judge: Judge, question: Question, found: Assessment, now_ns: int
) -> Command | None:
    """Return a command that would be admitted at this time, or None if there is none.

    Every command that is returned has been judged like any other.
    """
    codes = {reason.code for reason in found.reasons}
    command = question.command
    if command.space not in ("joint", "pose") or not codes or not _helped(codes):
        return None
    if len(command.targets) > MOST_ROWS:
        return None
    if codes & {"gripper_width"}:
        low, high = judge.gripper_range_m
        command = replace(command, gripper_m=np.clip(command.gripper_m, low, high))
    for candidate in _candidates(judge, command, found, codes, now_ns):
        part = replace(question, command=candidate)
        if not judge.assess(part, now_ns).reasons:
            return _farther(judge, part, command, now_ns)
    return None


def _helped(codes: Iterable[str]) -> bool:
    helpful = _TOO_FAST | _TOO_FAR | {"gripper_width"}
    return all(code in helpful or code.startswith("path_") for code in codes)


def _candidates(
    judge: Judge, command: Command, found: Assessment, codes: set[str], now_ns: int
) -> Iterator[Command]:
    if codes <= {"gripper_width"}:
        yield command
    if codes & _TOO_FAST:
        yield from _slower(command, found)
    start = judge.start_of(command, now_ns)
    for share in (0.5, 0.125):
        yield _scaled(command, start, share)


def _slower(command: Command, found: Assessment) -> Iterator[Command]:
    ratio = 1.0
    for reason in found.reasons:
        if reason.value is not None and reason.limit:
            ratio = max(ratio, abs(reason.value / reason.limit))
    for factor in (1.05 * ratio, 2.5 * ratio):
        period_ns = int(command.period_ns * factor)
        if period_ns <= _LONGEST_ROW_NS:
            yield replace(command, period_ns=period_ns, start_ns=0)


def _farther(judge: Judge, good: Question, wanted: Command, now_ns: int) -> Command:
    """Return the farthest acceptable command between a good one and the wanted rows."""
    best = good.command
    if best.period_ns != wanted.period_ns or best.targets is wanted.targets:
        return best
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        share = (low + high) / 2
        targets = _between(best.space, good.command.targets, wanted.targets, share)
        candidate = replace(wanted, targets=targets)
        if judge.assess(replace(good, command=candidate), now_ns).reasons:
            high = share
        else:
            best, low = candidate, share
    return best


def _scaled(command: Command, start: Vector, share: float) -> Command:
    rows = np.repeat(start[None], len(command.targets), axis=0)
    return replace(command, targets=_between(command.space, rows, command.targets, share))


def _between(space: str, first: Matrix, second: Matrix, share: float) -> Matrix:
    if space == "joint":
        mixed: Matrix = first + share * (second - first)
        return mixed
    return np.array([pose.between(a, b, share) for a, b in zip(first, second, strict=True)])


def first_rows(command: Command, rows: int) -> Command:
    """Return the first rows of a command; it then does not end where it would have."""
    gripper = command.gripper_m
    return replace(
        command,
        targets=command.targets[:rows],
        gripper_m=gripper[:rows] if gripper.size > 1 else gripper,
        ends_at_rest=False,
    )
