"""Messages about tasks: who may move what, what is to be done, and how it went."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRequest:
    """Ask the Gate for a task token; repeated by the sender until a Grant answers it.

    Attributes:
        request: Id chosen by the sender, unique per sender; the Grant repeats it.
        owner: Who the task belongs to: a connection, a program or a parent task.
        name: What the task is, for people, e.g. ``"grasp cup_red"``.
        resources: What it needs exclusively: ``"arm"``, ``"gripper"``.
        priority: Larger goes first; people use 100, programs 0.
        touches: Objects that it may touch or carry; everything else must stay clear.
        parent: Token of the parent task; empty if it has none. It ends with its parent.
        detached: True when it outlives its owner, explicitly.
        lease_ms: The owner must be heard from at least this often, in ms.
    """

    request: str
    owner: str
    name: str
    resources: tuple[str, ...] = ("arm", "gripper")
    priority: int = 0
    touches: tuple[str, ...] = ()
    parent: str = ""
    detached: bool = False
    lease_ms: int = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """The Gate's word on a task token, sent again at every change.

    Attributes:
        request: Id from the TaskRequest.
        owner: Owner from the TaskRequest.
        task: The token; empty when refused.
        state: ``granted``, ``queued``, ``refused``, ``revoked`` or ``ended``.
        reason: Why, in one sentence; empty when granted.
    """

    request: str
    owner: str
    task: str
    state: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """The owner is alive; judged by the Gate's clock on arrival.

    Attributes:
        owner: Who says so.
    """

    owner: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """End a task: its token is void at once and the arm comes to rest.

    Attributes:
        task: Token of the task, or the id of a goal.
        reason: Why, for the trace.
        finished: True when the owner is done with it, so that this is no failure.
    """

    task: str
    reason: str = ""
    finished: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Operator stop: bypasses every policy and latches until a Reset.

    Attributes:
        by: Who pressed it.
        reason: Why, for the trace.
        category: Stop category of IEC 60204-1: 0 removes power, 1 decelerates then removes power,
            2 decelerates and holds.
    """

    by: str
    reason: str = ""
    category: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset:
    """Release the operator stop. Nothing moves until a task is started anew.

    Attributes:
        by: Who released it.
    """

    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GateStatus:
    """What the Gate is doing, at its tick.

    Attributes:
        state: ``ready``, ``stopped`` (latched), ``held`` (a monitor) or ``waiting`` (no state yet).
        reason: Why it is not ready; empty when it is.
        arm_task: Token that holds the arm; empty if none.
        gripper_task: Token that holds the gripper; empty if none.
        at_rest: True when the arm is measured at rest and the commanded state is at rest.
        admitted: Commands admitted so far.
        refused: Commands refused so far.
        boot: Changes when the Gate restarts, so that nobody mistakes a new one for the old.
        journal: What the Gate has acted on since its last status, in order, as JSON text: enough
            to judge the run again. One list per entry: what, time in ns, and details.
    """

    state: str
    reason: str = ""
    arm_task: str = ""
    gripper_task: str = ""
    at_rest: bool = False
    admitted: int = 0
    refused: int = 0
    boot: str = ""
    journal: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """Start a skill or redirect a running one (same goal id); repeated until acknowledged.

    Attributes:
        goal: Id chosen by the sender, unique.
        skill: Registered name of the skill.
        parameters: Its parameters as JSON text.
        owner: Who it belongs to.
        parent: Goal id of the parent; empty if it has none.
        priority: Larger goes first.
        detached: True when it outlives its owner.
    """

    goal: str
    skill: str
    parameters: str = "{}"
    owner: str = ""
    parent: str = ""
    priority: int = 0
    detached: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """How a running goal goes.

    Attributes:
        goal: Its id.
        phase: What it does now, e.g. ``"approach"``.
        progress: 0 to 1; -1 when unknown.
        text: One line for people.
    """

    goal: str
    phase: str
    progress: float = -1.0
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How a goal or a whole program ended.

    Attributes:
        goal: Its id.
        status: ``succeeded``, ``failed``, ``cancelled``, ``refused`` or ``stopped``.
        reason: Why, in one sentence; empty when it succeeded.
        code: Machine-readable reason, e.g. ``stale_data``; empty when it succeeded.
        data: What was measured, as JSON text.
    """

    goal: str
    status: str
    reason: str = ""
    code: str = ""
    data: str = "{}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something worth a line for people and the trace.

    Attributes:
        kind: ``task``, ``disturbance``, ``warning``, ``summary``, ``error`` or ``inference`` (of a
            served policy).
        text: One line.
        data: Details as JSON text.
    """

    kind: str
    text: str
    data: str = "{}"
