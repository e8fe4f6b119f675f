"""What a policy asks the robot to do, what the Gate answers, and what the driver executes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from interlock.messages.columns import Matrix, Vector, empty, empty_matrix

#: joint: rows are joint positions in rad. pose: rows are world_from_tool (m, quaternion wxyz).
#: gripper: no rows, only the gripper moves. hold: no rows, decelerate and stand still.
Space = Literal["joint", "pose", "gripper", "hold"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Command:
    """Absolute targets on a schedule; one row is a plain target, more rows are an action chunk.

    Attributes:
        task: Token of the task that the command belongs to, as granted by the Gate.
        space: What the rows are.
        targets: Shape (horizon, n_joints) in rad, or (horizon, 7): m, quaternion w, x, y, z.
        period_ns: Time from one row to the next, and from the start to the first row, in ns.
        gripper_m: Distance between the fingers per row, shape (horizon,) in m; shape (1,) for
            space gripper; shape (0,) leaves the gripper alone.
        gripper_force_n: Largest grip force, in N.
        start_ns: When the schedule starts, in ns on the dataflow's clock; 0 means at once.
        deadline_ns: The Gate refuses the command after this time; 0 means no deadline.
        ends_at_rest: True when the last row is the end of the way and is met at rest; False when
            more rows will follow, so that it is passed at the speed the rows imply.
    """

    task: str
    space: Space
    targets: Matrix = field(default_factory=empty_matrix)
    period_ns: int = 0
    gripper_m: Vector = field(default_factory=empty)
    gripper_force_n: float = 40.0
    start_ns: int = 0
    deadline_ns: int = 0
    ends_at_rest: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AdmittedCommand:
    """A timed segment with the verified stop that follows it, sealed by the Gate for the driver.

    The driver follows the samples to the last one, which is at rest, unless a newer admitted
    command replaces what has not been executed.

    Attributes:
        run: Id of the run that the seal is bound to.
        number: Count of admitted commands in this run, from 0; the driver refuses a replay.
        task: Token of the task it belongs to.
        start_ns: When the first sample holds, in ns on the dataflow's clock.
        continues: Number of the admitted command whose motion this one takes over at
            ``start_ns``; -1 when it starts from rest at the driver's first set-point.
        period_ns: Time between samples, in ns.
        position: Shape (n_samples, n_joints), in rad; the first row is the state it continues.
        velocity: Shape (n_samples, n_joints), in rad/s.
        acceleration: Shape (n_samples, n_joints), in rad/s^2.
        stop_index: Index of the sample at which the verified stop begins.
        gripper_m: Commanded distance between the fingers per sample, shape (n_samples,) in m;
            shape (0,) leaves the gripper alone.
        gripper_force_n: Largest grip force, in N.
        not_after_ns: The driver refuses the command when it arrives after this time.
        mac: Seal: keyed blake2b over run, number, times and payload, as hex text.
    """

    run: str
    number: int
    task: str
    start_ns: int
    continues: int
    period_ns: int
    position: Matrix
    velocity: Matrix
    acceleration: Matrix
    stop_index: int
    gripper_m: Vector = field(default_factory=empty)
    gripper_force_n: float = 40.0
    not_after_ns: int = 0
    mac: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Verdict:
    """The Gate's answer to one command.

    Attributes:
        task: Token that the command carried.
        source: Node that sent the command.
        seq: Sequence number of the command on its output.
        admitted: True when the command, or a prefix of it, goes to the driver.
        mode: ``enforce``, ``shadow`` or ``modify``.
        codes: Machine-readable reasons, e.g. ``joint_velocity``; empty when admitted whole.
        reasons: One sentence per code: value, limit, place.
        sentence: One sentence a person or model can act on, with the way out.
        nearest: Nearest acceptable targets, shape (horizon, columns); shape (0, 0) if none.
        nearest_period_ns: Period that goes with ``nearest``, in ns.
        rows: Rows of the command that were admitted.
        committed_until_ns: Until when the admitted motion can no longer be replaced, in ns.
        number: Number of the admitted command; -1 when refused.
        margin_names: What each margin is of, e.g. ``joint_velocity`` or ``hand-table``.
        margins: Distance to the limit, shape (n,), in the limit's own unit; negative is broken.
        age_names: What each age is of, e.g. ``tracker/objects``.
        ages_ms: Age of the data used, shape (n,), in ms.
        separation_m: The six terms of speed and separation monitoring and the measured distance,
            shape (7,): S_h, S_r, S_s, C, Z_d, Z_r, distance, in m; shape (0,) without a person.
        rest_position: Predicted joint position at rest, shape (n_joints,), in rad.
        stage_us: Time taken by each stage of judgement, shape (n_stages,), in us; not part of what
            a replay compares.
    """

    task: str
    source: str
    seq: int
    admitted: bool
    mode: str = "enforce"
    codes: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    sentence: str = ""
    nearest: Matrix = field(default_factory=empty_matrix)
    nearest_period_ns: int = 0
    rows: int = 0
    committed_until_ns: int = 0
    number: int = -1
    margin_names: tuple[str, ...] = ()
    margins: Vector = field(default_factory=empty)
    age_names: tuple[str, ...] = ()
    ages_ms: Vector = field(default_factory=empty)
    separation_m: Vector = field(default_factory=empty)
    rest_position: Vector = field(default_factory=empty)
    stage_us: Vector = field(default_factory=empty)
