"""One command with what the Gate knows at the moment it judges it; every check reads this."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import ClassVar

    from interlock.gate.clearance import Clearance
    from interlock.gate.decision import Finding
    from interlock.gate.plan import Plan
    from interlock.gate.planner import Planner
    from interlock.gate.robot import JointLimits, RobotModel
    from interlock.messages.columns import Vector
    from interlock.messages.command import Command
    from interlock.messages.stamp import Basis

#: The stages of judgement, in order.
STAGES = ("form", "authority", "data", "limits", "path", "recovery", "separation")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """An object as it was last seen.

    Attributes:
        world_from_object: Its pose, shape (7,).
        observed_ns: When it was seen, in ns on the dataflow's clock.
        confidence: 0 to 1.
    """

    world_from_object: Vector
    observed_ns: int
    confidence: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Proposal:
    """A command and what the Gate knows about it.

    Attributes:
        command: The command.
        source: Node that sent it.
        basis: The messages it was computed from.
        now_ns: Time of judgement, in ns on the dataflow's clock.
        limits: Limits to enforce.
        robot: The robot's geometry.
        planner: Builds stops.
        clearance: Distances of the robot to everything that the task must stay clear of.
        people: Distances of the robot to people.
        levers: How far any point moves per rad of each joint, shape (n_joints,), in m/rad.
        plan: The motion that would be executed; None when none can be built.
        state_observed_ns: When the robot's state was last observed; None when it never was.
        sightings: Where objects were last seen, by name.
        touches: Objects that the task may touch or carry.
    """

    command: Command
    source: str
    basis: tuple[Basis, ...]
    now_ns: int
    limits: JointLimits
    robot: RobotModel
    planner: Planner
    clearance: Clearance
    people: Clearance
    levers: Vector
    plan: Plan | None = None
    state_observed_ns: int | None = None
    sightings: Mapping[str, Sighting] = field(default_factory=dict)
    touches: frozenset[str] = frozenset()


class Check(Protocol):
    """One thing that a command must satisfy.

    Attributes:
        name: Its name in ``checks:`` of the configuration.
        stage: Stage of judgement that it belongs to.
        needs_plan: True when it judges the motion, and is left out when there is none.
    """

    name: ClassVar[str]
    stage: ClassVar[str]
    needs_plan: ClassVar[bool]

    def __call__(self, proposal: Proposal) -> Iterator[Finding]:
        """Yield what it found; never raise."""
