"""Refuse a motion that could meet a person before the arm has stopped.

Speed and separation monitoring of ISO 10218-2 and ISO/TS 15066: the protective distance is

    S_p = S_h + S_r + S_s + C + Z_d + Z_r

S_h  way of the person until the arm stands still: v_h (age + T_r + T_s)
S_r  way of the arm until it begins to stop: v_r T_r
S_s  way of the arm while it stops
C    how far a person reaches into the field before they are seen
Z_d  uncertainty of the person's position
Z_r  uncertainty of the arm's position

v_h is 1.6 m/s (ISO 13855's walking speed) unless configured. The person's position is as old as its
observation, so their way grows with that age; a fixed age limit can be set as well. The arm may
always stand still, or retreat: move so that it gets no nearer to where a person was just seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from interlock.gate.decision import Finding, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interlock.gate.plan import Plan
    from interlock.gate.proposal import Proposal
    from interlock.gate.samples import JointState

_STOP_POINTS = 4
_EVERY_NS = 100_000_000
_RETREAT_SAMPLES = 6
_RETREAT_SLACK_M = 1e-3


class Terms(NamedTuple):
    """The six terms of the protective distance and the measured distance, in m."""

    person_m: float
    reaction_m: float
    stopping_m: float
    intrusion_m: float
    person_uncertainty_m: float
    robot_uncertainty_m: float
    distance_m: float

    @property
    def protective_m(self) -> float:
        """The protective distance S_p, in m."""
        return sum(self[:6])

    @property
    def margin_m(self) -> float:
        """Distance beyond the protective distance, in m; negative when too near."""
        return self.distance_m - self.protective_m


@dataclass(frozen=True, kw_only=True)
class Separation:
    """Distance to people.

    Attributes:
        people: Names of the objects that are people, or parts of them.
        person_speed_mps: How fast a person may come nearer, in m/s.
        reaction_ms: Time until the arm begins to stop after the Gate has decided, in ms.
        intrusion_m: C, in m.
        person_uncertainty_m: Z_d, in m.
        robot_uncertainty_m: Z_r, in m.
        max_age_ms: Fixed limit of the age of a person's position, in ms; 0 has none, and the
            margin alone grows with the age.
        retreat_age_ms: A retreat needs a position that is at most as old, in ms: away from where
            a person was long ago may be towards them.
        required: True when nothing may move while a person's position was never received.
    """

    name: ClassVar[str] = "separation"
    stage: ClassVar[str] = "separation"
    needs_plan: ClassVar[bool] = True

    people: tuple[str, ...]
    person_speed_mps: float = 1.6
    reaction_ms: float = 20.0
    intrusion_m: float = 0.0
    person_uncertainty_m: float = 0.02
    robot_uncertainty_m: float = 0.005
    max_age_ms: float = 0.0
    retreat_age_ms: float = 200.0
    required: bool = False

    def __post_init__(self) -> None:
        if not self.people:
            raise ValueError("people: expected at least one name")
        for key in (
            "person_speed_mps",
            "reaction_ms",
            "intrusion_m",
            "person_uncertainty_m",
            "robot_uncertainty_m",
            "max_age_ms",
            "retreat_age_ms",
        ):
            if not 0 <= getattr(self, key) < 1e5:
                raise ValueError(f"{key}: expected 0 or more, got {getattr(self, key)}")

    def __call__(self, proposal: Proposal) -> Iterator[Finding]:
        """Yield the least margin along the motion, in m, with the six terms and the distance."""
        plan = proposal.plan
        if plan is None:
            return
        seen = [proposal.sightings[name] for name in self.people if name in proposal.sightings]
        if len(seen) < len(self.people) and self.required:
            yield Finding(name=self.name, reason=_never_seen(self.people, proposal))
        if not seen:
            return
        age_s = max(0.0, (proposal.now_ns - min(s.observed_ns for s in seen)) * 1e-9)
        if self.max_age_ms and not age_s * 1e3 <= self.max_age_ms:
            yield Finding(name="person_age", reason=_too_old(age_s * 1e3, self.max_age_ms))
        yield self._judge(plan, proposal, age_s)

    def terms(self, proposal: Proposal, state: JointState, age_s: float) -> Terms:
        """Return the terms for a commanded state, with the distance there."""
        stop, duration_s = proposal.planner.stop_path(state, _STOP_POINTS)
        reaction_s = self.reaction_ms * 1e-3
        speed = proposal.robot.fastest_point_speed(state.position, state.velocity)
        known = Terms(
            person_m=self.person_speed_mps * (age_s + reaction_s + duration_s),
            reaction_m=speed * reaction_s,
            stopping_m=float(np.abs(stop - state.position).max(axis=0) @ proposal.levers),
            intrusion_m=self.intrusion_m,
            person_uncertainty_m=self.person_uncertainty_m,
            robot_uncertainty_m=self.robot_uncertainty_m,
            distance_m=0.0,
        )
        distance = proposal.people.at_least(state.position, known.protective_m)
        return known._replace(distance_m=distance)

    def _judge(self, plan: Plan, proposal: Proposal, age_s: float) -> Finding:
        worst, worst_index = None, 0
        for index in _moving(plan):
            terms = self.terms(proposal, plan.state(index), age_s)
            if worst is None or not terms.margin_m >= worst.margin_m:
                worst, worst_index = terms, index
        if worst is None:
            return Finding(name=self.name)
        reason = None
        recent = age_s * 1e3 <= self.retreat_age_ms
        if not worst.margin_m >= 0 and not (recent and _retreats(plan, proposal)):
            reason = Reason(
                code="separation",
                sentence=(
                    f"A person is {worst.distance_m:.2f} m away (seen {age_s * 1e3:.0f} ms ago), "
                    f"this motion needs {worst.protective_m:.2f} m to stop in time"
                ),
                way_out="Wait, move more slowly, or move away from the person.",
                value=worst.distance_m,
                limit=worst.protective_m,
                row=plan.row_of(worst_index),
            )
        return Finding(name=self.name, margin=worst.margin_m, reason=reason, terms=tuple(worst))


def _moving(plan: Plan) -> list[int]:
    """Return samples to judge: about every 100 ms, and where it is fastest."""
    stride = max(1, int(_EVERY_NS // plan.period_ns))
    fastest = int(np.argmax(np.abs(plan.velocity).max(axis=1)))
    chosen = sorted({*range(0, plan.stop_index + 1, stride), fastest})
    return [i for i in chosen if plan.velocity[i].any()]


def _retreats(plan: Plan, proposal: Proposal) -> bool:
    """Return whether no part of the way is nearer to a person than its start."""
    samples = plan.position[:: max(1, len(plan.position) // _RETREAT_SAMPLES)]
    start = proposal.people.measure(samples[0]).distance_m
    ways = [proposal.people.measure(q).distance_m for q in (*samples[1:], plan.position[-1])]
    return all(d >= start - _RETREAT_SLACK_M for d in ways) and ways[-1] > start


def _never_seen(people: tuple[str, ...], proposal: Proposal) -> Reason:
    missing = next(name for name in people if name not in proposal.sightings)
    return Reason(
        code="person_unseen",
        sentence=f"The position of {missing} was never received, and it is required",
        way_out="Start the node that observes it.",
    )


def _too_old(age_ms: float, limit_ms: float) -> Reason:
    return Reason(
        code="person_age",
        sentence=f"A person's position is {age_ms:.0f} ms old, the limit is {limit_ms:.0f} ms",
        way_out="Wait for a newer observation.",
        value=age_ms,
        limit=limit_ms,
    )
