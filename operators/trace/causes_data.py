"""Causes that lie in the age of what was known: stale data, and a policy that took too long."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from interlock.messages import Command, Grant, ObjectPoses, RobotState, Verdict
from interlock.operators.trace.causes_control import about, judged, last_refusal, owner_gone
from interlock.operators.trace.view import Finding

if TYPE_CHECKING:
    from interlock.messages import Received
    from interlock.operators.trace.view import View

#: An object that moved by more than this since it was seen was not where the fingers closed, in m.
MOVED_M = 0.015
#: An object pose older than this at the close of the fingers explains a grasp of nothing, in ms.
OLD_MS = 500.0
#: A policy that leaves the arm without a command for longer than this is late, in s.
LATE_S = 0.5


def stale_data(view: View) -> Finding | None:
    """The robot acted, or was not let act, on an observation that was too old."""
    verdict = last_refusal(view)
    if verdict is not None and about(verdict.message.codes) == "data":
        command = judged(view, verdict)
        if command is None or not _thinking_dominates(command):
            message = verdict.message
            text = (
                f"At {view.at(verdict.stamp.sent_ns)} the Gate refused command #{message.seq} of "
                f"{message.source} because it rested on old data: {message.sentence.rstrip('.')}."
            )
            return Finding(cause="stale_data", text=text, rests_on=command or verdict)
    if view.failure.code == "stale_data":
        text = f"The task ended because what it needed was not fresh: {view.failure.reason}"
        return Finding(cause="stale_data", text=text, rests_on=_last_command(view))
    if view.failure.code in ("empty_grasp", "error", "failed", "timeout", ""):
        return _stale_grasp(view)
    return None


def _last_command(view: View) -> Received[Command] | None:
    commands = view.during(Command)
    return commands[-1] if commands else None


def _stale_grasp(view: View) -> Finding | None:
    """The fingers closed where the object had been."""
    close = _closing(view)
    if close is None:
        return None
    poses = _poses(view, close)
    for name in sorted(view.touched() or _names(poses)):
        known = _where(poses, name)
        if known is None:
            continue
        age_ms = (close.stamp.sent_ns - known[1]) / 1e6
        moved_m = _moved(view, name, known, close.stamp.sent_ns)
        if moved_m is None and age_ms > OLD_MS:
            text = (
                f"The fingers closed at {view.at(close.stamp.sent_ns)} on {name}, which was last "
                f"seen {age_ms:.0f} ms before and not again."
            )
        elif moved_m is not None and moved_m > MOVED_M:
            text = (
                f"The fingers closed at {view.at(close.stamp.sent_ns)} on {name} where it was "
                f"{age_ms:.0f} ms before; by then it had moved {moved_m * 100:.1f} cm."
            )
        else:
            continue
        return Finding(cause="stale_data", text=text, rests_on=close)
    return None


def _closing(view: View) -> Received[Command] | None:
    """Return the last command that closed the fingers on something."""
    closing = [c for c in view.during(Command) if _closes(c.message)]
    # A held grip is commanded again and again: the first one of the last row of them counts.
    for i in range(len(closing) - 1, 0, -1):
        if closing[i].stamp.sent_ns - closing[i - 1].stamp.sent_ns > 1_000_000_000:
            return closing[i]
    return closing[0] if closing else None


def _closes(command: Command) -> bool:
    return bool(command.gripper_m.size and command.gripper_m[-1] < 0.03)


def _poses(view: View, close: Received[Command]) -> Received[ObjectPoses] | None:
    """Return the object poses that a command rests on; else the last ones sent before it."""
    for entry in close.stamp.basis:
        found = view.trace.find(entry)
        if found is not None and isinstance(found.message, ObjectPoses):
            return found
    before = [p for p in view.during(ObjectPoses) if p.stamp.sent_ns <= close.stamp.sent_ns]
    return before[-1] if before else None


def _names(poses: Received[ObjectPoses] | None) -> tuple[str, ...]:
    return poses.message.names if poses is not None and len(poses.message.names) == 1 else ()


def _where(poses: Received[ObjectPoses] | None, name: str) -> tuple[np.ndarray, int] | None:
    """Return where an object was and when it was seen there."""
    if poses is None or name not in poses.message.names:
        return None
    row = poses.message.names.index(name)
    return poses.message.world_from_object[row, :3], int(poses.message.observed_ns[row])


def _moved(view: View, name: str, known: tuple[np.ndarray, int], close_ns: int) -> float | None:
    """Return how far the object was, at the close, from where it was believed to be.

    The truth is the sighting nearest to the close that is newer than the one believed, and no
    later than half a second after it: what the fingers themselves moved does not count.
    """
    best: tuple[int, float] | None = None
    for received in view.during(ObjectPoses):
        seen = _where(received, name)
        if seen is None or seen[1] <= known[1] or seen[1] > close_ns + 500_000_000:
            continue
        far_ns = abs(seen[1] - close_ns)
        if best is None or far_ns < best[0]:
            best = (far_ns, float(np.linalg.norm(seen[0] - known[0])))
    return best[1] if best else None


def late_policy(view: View) -> Finding | None:
    """The policy thought for so long that its answer, or the lack of one, did the harm."""
    verdict = last_refusal(view)
    if verdict is not None:
        return _late_answer(view, verdict)
    return _late_gap(view)


def late_owner(view: View) -> Finding | None:
    """The owner of the task thought for so long that the Gate took it for gone."""
    for received in view.within(Grant):
        grant, at_ns = received.message, received.stamp.sent_ns
        if (
            grant.state != "revoked"
            or grant.task not in view.tokens
            or not owner_gone(grant.reason)
        ):
            continue
        for command in view.during(Command):
            began_ns = command.stamp.sent_ns - _thinking_ns(command)
            if command.stamp.source in view.owners and began_ns < at_ns < command.stamp.sent_ns:
                text = (
                    f"{command.stamp.source} took {_thinking_ns(command) / 1e6:.0f} ms to compute "
                    f"command #{command.stamp.seq} and gave no sign of life meanwhile; at "
                    f"{view.at(at_ns)} the Gate ended its task ({grant.reason.rstrip('.')})."
                )
                return Finding(cause="late_policy", text=text, rests_on=command)
    return None


def _late_answer(view: View, verdict: Received[Verdict]) -> Finding | None:
    command = judged(view, verdict)
    family = about(verdict.message.codes)
    if command is None or family not in ("late", "data"):
        return None
    if family == "data" and not _thinking_dominates(command):
        return None
    text = (
        f"{command.stamp.source} took {_thinking_ns(command) / 1e6:.0f} ms from the data to "
        f"command #{command.stamp.seq}, which the Gate refused at "
        f"{view.at(verdict.stamp.sent_ns)}: {verdict.message.sentence.rstrip('.')}."
    )
    return Finding(cause="late_policy", text=text, rests_on=command)


def _thinking_ns(command: Received[Command]) -> int:
    """Return the time from the last data that a command rests on to its sending."""
    received = [b.received_ns for b in command.stamp.basis]
    return command.stamp.sent_ns - max(received, default=command.stamp.sent_ns)


def _thinking_dominates(command: Received[Command]) -> bool:
    """Was the oldest data of a command fresh when it was received, and old when it was used?"""
    if not command.stamp.basis:
        return False
    oldest = min(command.stamp.basis, key=lambda b: b.observed_ns)
    thinking_ns = command.stamp.sent_ns - oldest.received_ns
    return thinking_ns > oldest.received_ns - oldest.observed_ns


def _late_gap(view: View) -> Finding | None:
    """The arm ran into its verified stop because the next command was still being computed."""
    commands = view.during(Command)
    for before, after in pairwise(commands):
        gap_ns = after.stamp.sent_ns - before.stamp.sent_ns
        if gap_ns < LATE_S * 1e9 or _thinking_ns(after) < gap_ns / 2:
            continue
        if _stopped_between(view, before.stamp.sent_ns, after.stamp.sent_ns):
            text = (
                f"{after.stamp.source} took {_thinking_ns(after) / 1e6:.0f} ms to compute command "
                f"#{after.stamp.seq}; the arm had no newer command from "
                f"{view.at(before.stamp.sent_ns)} to {view.at(after.stamp.sent_ns)} and ran into "
                "its verified stop."
            )
            return Finding(cause="late_policy", text=text, rests_on=after)
    return None


def _stopped_between(view: View, since_ns: int, until_ns: int) -> bool:
    states = [s for s in view.during(RobotState) if since_ns < s.stamp.sent_ns < until_ns]
    return any(s.message.phase == "stop" for s in states)
