"""Causes that lie in who may move the robot: stop, authority, owners, and the Gate's refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlock.messages import (
    Cancel,
    Command,
    Event,
    GateStatus,
    Grant,
    RobotState,
    Stop,
    Verdict,
)
from interlock.operators.trace.view import Finding, quoted

if TYPE_CHECKING:
    from interlock.messages import Received
    from interlock.operators.trace.view import View

#: Words of a verdict's code -> what it is about; ``path_<object>`` is always about the motion.
FAMILIES: dict[str, frozenset[str]] = {
    "stop": frozenset({"operator", "stopped", "estop"}),
    "authority": frozenset(
        {"authority", "token", "task", "owner", "lease", "revoked", "resource"}
        | {"held", "lent", "queued"}
    ),
    "late": frozenset({"deadline", "expired", "late", "past"}),
    "data": frozenset({"stale", "age", "state"}),
}
#: Words of a grant's reason that tell a task pushed aside from one whose owner went away.
PUSHED_WORDS = ("priority", "preempt", "higher", "took over")
OWNER_WORDS = ("owner", "heartbeat", "heard", "lease", "parent", "connect", "gone", "died")


def about(codes: tuple[str, ...]) -> str:
    """Return what a refusal is about: ``stop``, ``authority``, ``late``, ``data`` or ``motion``."""
    words = {w for code in codes if not code.startswith("path_") for w in code.split("_")}
    return next((family for family, own in FAMILIES.items() if words & own), "motion")


def owner_gone(reason: str) -> bool:
    """Return True when a grant's reason says that the owner of the task went away."""
    text = reason.lower()
    pushed = any(word in text for word in PUSHED_WORDS)
    return not pushed and any(word in text for word in OWNER_WORDS)


def last_refusal(view: View) -> Received[Verdict] | None:
    """Return the last verdict on the task when it is a refusal."""
    verdicts = [v for v in view.within(Verdict) if v.message.task in view.tokens | {""}]
    if not verdicts or verdicts[-1].message.admitted:
        return None
    return verdicts[-1]


def judged(view: View, verdict: Received[Verdict]) -> Received[Command] | None:
    """Return the command that a verdict is about."""
    for entry in verdict.stamp.basis:
        found = view.trace.find(entry)
        if found is not None and isinstance(found.message, Command):
            return found
    same = [
        c
        for c in view.during(Command)
        if (c.stamp.source, c.stamp.seq) == (verdict.message.source, verdict.message.seq)
    ]
    return same[-1] if same else None


def operator_stop(view: View) -> Finding | None:
    """The operator stopped the robot, and nothing may move until the reset."""
    for received in view.within(Stop, GateStatus, Grant):
        who, why = "The operator", ""
        match received.message:
            case Stop(by=by, reason=reason):
                who, why = by or who, reason
            case GateStatus(state="stopped", reason=reason):
                why = reason
            case Grant(state="revoked" | "refused", reason=reason) if _by_operator(reason):
                why = reason
            case _:
                continue
        text = (
            f"{who} had pressed stop by {view.at(received.stamp.sent_ns)}{quoted(why)}; every "
            "task ends with it, and nothing moves until the reset."
        )
        return Finding(cause="operator_stop", text=text, rests_on=received)
    return None


def _by_operator(reason: str) -> bool:
    text = reason.lower()
    return "operator" in text and "stop" in text


def lost_authority(view: View) -> Finding | None:
    """The Gate took the token back, or never gave it, while its owner wanted to go on."""
    for received in view.within(Grant):
        grant = received.message
        if grant.state not in ("revoked", "refused") or not _concerns(view, grant):
            continue
        if owner_gone(grant.reason) or _given_back(view, received):
            continue
        verb = "revoked" if grant.state == "revoked" else "was refused"
        text = (
            f"The right to move the robot for {view.title(grant.task)} {verb} at "
            f"{view.at(received.stamp.sent_ns)}{quoted(grant.reason)}{_taken_by(view, received)}."
        ).replace(" revoked at", " was revoked at")
        return Finding(cause="lost_authority", text=text, rests_on=received)
    verdict = last_refusal(view)
    if verdict is None and (waiting := _waiting(view)) is not None:
        return waiting
    if verdict is not None and about(verdict.message.codes) == "authority":
        text = (
            f"At {view.at(verdict.stamp.sent_ns)} the Gate refused a command because its task no "
            f"longer had the right to move: {verdict.message.sentence or verdict.message.codes[0]}"
        )
        return Finding(cause="lost_authority", text=text, rests_on=verdict)
    if view.failure.code == "authority_lost":
        return Finding(cause="lost_authority", text=f"{view.failure.reason.rstrip('.')}.")
    return None


def _waiting(view: View) -> Finding | None:
    """The task was still in the queue for the robot when it ended."""
    owner = view.failure.goal.rpartition("/")[0]
    grants = [g for g in view.within(Grant) if owner in ("", g.message.owner)]
    if not grants or grants[-1].message.state != "queued":
        return None
    queued = grants[-1].message
    first = next(g for g in grants if g.message.task == queued.task)
    text = (
        f"{view.title(queued.task)} of {queued.owner} waited for the robot from "
        f"{view.at(first.stamp.sent_ns)} on and never got it{_taken_by(view, first)}."
    )
    return Finding(cause="lost_authority", text=text, rests_on=first)


def _concerns(view: View, grant: Grant) -> bool:
    owner = view.failure.goal.rpartition("/")[0]
    return grant.task in view.tokens or (not grant.task and owner in ("", grant.owner))


def _given_back(view: View, revoked: Received[Grant]) -> bool:
    """Return True when the owner itself ended the task, because it had failed."""
    return any(
        c.message.task == revoked.message.task
        and c.stamp.source == view.failure.source
        and c.stamp.sent_ns <= revoked.stamp.sent_ns
        for c in view.during(Cancel)
    )


def _taken_by(view: View, lost: Received[Grant]) -> str:
    """Name the task that got what this one lost."""
    at_ns = lost.stamp.sent_ns
    for received in view.during(Grant):
        grant = received.message
        near = abs(received.stamp.sent_ns - at_ns) < 500_000_000
        if near and grant.state == "granted" and grant.task != lost.message.task:
            return f"; {view.title(grant.task)} of {grant.owner} got it"
    return ""


def cancelled(view: View) -> Finding | None:
    """Somebody else ended the task: its owner went away, its parent ended, or it was cancelled."""
    for received in view.within(Grant):
        grant = received.message
        lost = grant.state == "revoked" and grant.task in view.tokens
        if lost and owner_gone(grant.reason) and not _given_back(view, received):
            text = (
                f"The Gate cancelled {view.title(grant.task)} of {grant.owner} at "
                f"{view.at(received.stamp.sent_ns)}{quoted(grant.reason)}."
            )
            return Finding(cause="cancelled", text=text, rests_on=received)
    for received in view.within(Cancel):
        if _from_outside(view, received):
            text = (
                f"{received.stamp.source} cancelled {_named(view, received.message.task)} at "
                f"{view.at(received.stamp.sent_ns)}{quoted(received.message.reason)}."
            )
            return Finding(cause="cancelled", text=text, rests_on=received)
    if view.failure.status == "cancelled" or view.failure.code == "cancelled":
        return Finding(cause="cancelled", text=f"It was cancelled{quoted(view.failure.reason)}.")
    return None


def _from_outside(view: View, received: Received[Cancel]) -> bool:
    """A task that failed gives its token back with the reason: that is no cause of the failure."""
    cancel = received.message
    if cancel.finished:
        return False
    if cancel.task not in view.tokens | {view.failure.goal}:
        return False
    return bool(received.stamp.source != view.failure.source or view.failure.code == "cancelled")


def _named(view: View, task: str) -> str:
    return f"task {task}" if task == view.failure.goal else view.title(task)


def refusal(view: View) -> Finding | None:
    """The Gate refused what the task wanted to do."""
    verdict = last_refusal(view)
    if verdict is None or about(verdict.message.codes) != "motion":
        return None
    message = verdict.message
    sentence = message.sentence or ", ".join(message.reasons) or ", ".join(message.codes)
    count = sum(1 for v in view.within(Verdict) if not v.message.admitted)
    times = f", the last of {count} refusals" if count > 1 else ""
    text = (
        f"At {view.at(verdict.stamp.sent_ns)} the Gate refused command #{message.seq} of "
        f"{message.source} ({', '.join(message.codes)}{times}): {sentence.rstrip('.')}."
        f"{_driver_refused(view)}"
    )
    return Finding(cause="refusal", text=text, rests_on=judged(view, verdict) or verdict)


def _driver_refused(view: View) -> str:
    """Tell when the driver, too, had refused: the arm then was not where the Gate thought."""
    before: RobotState | None = None
    for received in view.within(RobotState):
        state: RobotState = received.message
        if before is not None and state.refused > before.refused:
            return (
                f" Before that, by {view.at(received.stamp.sent_ns)}, the driver had refused an "
                f"admitted command ({state.refusal}), so the arm did not follow it."
            )
        before = state
    return ""


def errors(view: View) -> list[Received[Any]]:
    """Return the events that report an error or a warning while the task ran."""
    return [e for e in view.during(Event) if e.message.kind in ("error", "warning")]
