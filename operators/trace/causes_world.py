"""Causes that lie in the machinery: a dead node, an invalid simulation, a lost object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.messages import (
    Command,
    Event,
    GateStatus,
    Grant,
    Heartbeat,
    Image,
    ObjectPoses,
    RobotState,
    Verdict,
)
from interlock.operators.trace.causes_control import errors
from interlock.operators.trace.view import SLACK_NS, Finding, details, quoted

if TYPE_CHECKING:
    from interlock.messages import Received
    from interlock.operators.trace.reader import Stream
    from interlock.operators.trace.view import View

#: Types that a living node sends all the time: silence means something.
PERIODIC = (RobotState, Image, ObjectPoses, GateStatus, Heartbeat)
#: Shortest silence that counts, in ns, and in periods of the output.
SILENCE_NS, SILENCE_PERIODS = 500_000_000, 8
#: Fingers that close by more than this while they hold have lost the object, in m.
SLIP_M = 0.006
#: Force on the pads from which on something is held, in N, and for how long, in ns.
HELD_N, HELD_NS = 1.0, 200_000_000


def simulation_invalid(view: View) -> Finding | None:
    """The driver or simulator could not go on."""
    for received in view.within(RobotState):
        if received.message.fault:
            text = (
                f"From {view.at(received.stamp.sent_ns)} on the simulation was not valid: "
                f"{received.message.fault.rstrip('.')}. What came after says nothing of the task."
            )
            return Finding(cause="simulation_invalid", text=text, rests_on=received)
    return None


def dead_node(view: View) -> Finding | None:
    """A node that the task depends on died, restarted, or fell silent."""
    return _dead(view, _relevant(view))


def dead_gate(view: View) -> Finding | None:
    """The Gate, which knows who may move, or the owner of the task died."""
    gates = {s.source for s in view.trace.streams if s.cls in (Verdict, GateStatus, Grant)}
    return _dead(view, gates | view.owners)


def dead_owner(view: View) -> Finding | None:
    """The owner of the task died."""
    return _dead(view, view.owners)


def _dead(view: View, among: set[str]) -> Finding | None:
    for finding in (_reported(view, among), _restarted(view, among), _silent(view, among)):
        if finding is not None:
            return finding
    return None


def _relevant(view: View) -> set[str]:
    """Return the nodes that commands rest on, and those that make, judge and execute them."""
    found: set[str] = {view.failure.source}
    for stream in view.trace.streams:
        if not len(stream):
            continue
        if stream.cls in (Command, Verdict, RobotState):
            found.add(stream.source)
        for batch in stream.batches:
            entries = batch.data.column("basis").flatten()
            found.update(entries.field("source").unique().to_pylist())
    return found


def _reported(view: View, relevant: set[str]) -> Finding | None:
    for received in errors(view):
        event: Event = received.message
        data = details(event.data)
        node, reason = data.get("node"), data.get("reason")
        if (
            node in relevant
            and isinstance(reason, str)
            and not _follows(view, received, node, reason)
        ):
            text = (
                f"Node {node} was gone at {view.at(received.stamp.sent_ns)}{quoted(reason)}; "
                f"the task depends on it."
            )
            return Finding(cause="dead_node", text=text, rests_on=received)
    return None


def _follows(view: View, received: Received[Event], node: object, reason: str) -> bool:
    """Return True when a node ended because of the failure: that is no cause of it."""
    failure = view.failure
    if not failure.source or received.stamp.sent_ns < failure.at_ns:
        return False
    return node == failure.source or f"node {failure.source} " in f"{reason} "


def _restarted(view: View, relevant: set[str]) -> Finding | None:
    boots: dict[str, str] = {}
    for received in view.during(GateStatus):
        source, boot = received.stamp.source, received.message.boot
        if source in relevant and boots.setdefault(source, boot) != boot:
            return _restart(view, source, received.stamp.sent_ns)
    for stream in view.trace.streams:
        if stream.source not in relevant or len(stream) < 2:
            continue
        seq, sent = stream.column("seq"), stream.column("sent_ns")
        for i in np.flatnonzero((np.diff(seq) < 0) & (np.diff(sent) > 0)) + 1:
            if view.failure.since_ns <= sent[i] <= view.failure.at_ns + SLACK_NS:
                return _restart(view, stream.source, int(sent[i]))
    return None


def _restart(view: View, source: str, at_ns: int) -> Finding:
    text = (
        f"Node {source} died and began anew at {view.at(at_ns)}; what it knew, and every token "
        "and command of its former life, was void."
    )
    return Finding(cause="dead_node", text=text)


def _silent(view: View, relevant: set[str]) -> Finding | None:
    """Name the first node that fell silent and had not spoken again when the task ended."""
    silences = []
    for stream in view.trace.streams:
        if stream.cls in PERIODIC and stream.source in relevant and len(stream) >= 5:
            last_ns = _last_word(stream, view.failure.at_ns)
            if last_ns is None or _speaks(view, stream.source):
                continue
            if last_ns >= view.failure.since_ns - SLACK_NS:
                silences.append((last_ns, stream.name, stream.source))
    if not silences:
        return None
    last_ns, name, source = min(silences)
    text = (
        f"Node {source} sent nothing on {name} from {view.at(last_ns)} on, "
        f"{(view.failure.at_ns - last_ns) / 1e9:.2f} s before the end: it died or hung."
    )
    return Finding(cause="dead_node", text=text)


def _speaks(view: View, source: str) -> bool:
    """Return True when a node sent anything at all shortly before the end of the task."""
    until_ns = view.failure.at_ns
    for stream in view.trace.streams:
        if stream.source == source:
            sent = stream.column("sent_ns")
            if ((sent <= until_ns) & (sent > until_ns - SILENCE_NS)).any():
                return True
    return False


def _last_word(stream: Stream, at_ns: int) -> int | None:
    """Return when an output was last heard before a time, if the silence since is too long."""
    sent = np.sort(stream.column("sent_ns"))
    before = sent[sent <= at_ns]
    if before.size < 5:
        return None
    silence_ns = at_ns - int(before[-1])
    limit_ns = max(SILENCE_NS, SILENCE_PERIODS * int(np.median(np.diff(before))))
    return int(before[-1]) if silence_ns > limit_ns else None


def slipped(view: View) -> Finding | None:
    """The object was held, and then it was not, though nobody had opened the fingers."""
    held: Any = None
    since_ns = 0
    for received in view.during(RobotState):
        state, now_ns = received.message, received.stamp.sent_ns
        holds = state.gripper_force_n >= HELD_N and state.gripper_width_m > state.gripper_target_m
        if held is not None and state.gripper_target_m > held.gripper_target_m + 1e-4:
            held = None  # opened on purpose
        if holds and (held is None or abs(state.gripper_width_m - held.gripper_width_m) < SLIP_M):
            since_ns = since_ns if held is not None else now_ns
            held = held or state
            continue
        fell_m = held.gripper_width_m - state.gripper_width_m if held is not None else 0.0
        if fell_m > SLIP_M and now_ns - since_ns > HELD_NS:
            text = (
                f"The object left the fingers at {view.at(now_ns)}: they had held it at "
                f"{held.gripper_width_m * 1000:.0f} mm since {view.at(since_ns)} and closed to "
                f"{state.gripper_width_m * 1000:.0f} mm without being told to."
            )
            return Finding(cause="slipped", text=text, rests_on=received)
    if view.failure.code == "slipped":
        return Finding(cause="slipped", text=f"{view.failure.reason.rstrip('.')}.")
    return None


def held(view: View) -> Finding | None:
    """A monitor of the Gate held the arm until the task gave up."""
    status = view.within(GateStatus)
    if not status or status[-1].message.state != "held":
        return None
    since = status[-1]
    for received in reversed(status):
        if received.message.state != "held":
            break
        since = received
    text = (
        f"A monitor of the Gate held the arm from {view.at(since.stamp.sent_ns)} on"
        f"{quoted(since.message.reason)}."
    )
    return Finding(cause="refusal", text=text, rests_on=since)
