"""Refuse what is not a command: types, shapes, finite numbers. Always on."""

from __future__ import annotations

import numpy as np

from interlock.gate.decision import Reason
from interlock.messages.command import Command
from interlock.messages.robot import RobotState

#: Rows of one command; more is no chunk that a policy sends.
MAX_ROWS = 1000
#: Shortest time between rows: a motion is sampled as finely as its rows, its stop included.
SHORTEST_PERIOD_NS = 1_000_000
#: Larger numbers, in rad or m, are no place that a robot could be at.
LARGEST = 1e4
#: Clocks of two hosts may differ by this much.
CLOCK_ERROR_NS = 50_000_000
_LARGEST_NUMBER = 2**62
_COLUMNS = {"pose": 7}
_INT64 = 2**63
_STATE_ROWS = (
    "position",
    "velocity",
    "commanded_position",
    "commanded_velocity",
    "commanded_acceleration",
    "world_from_tool",
)


def malformed(command: object, n_joints: int) -> Reason | None:
    """Return why something is not a command for a robot with ``n_joints`` joints, or None."""
    try:
        problem = _problem(command, n_joints)
    except Exception as error:
        problem = f"it can't be read: {type(error).__name__}"
    if problem is None:
        return None
    return Reason(code="malformed", sentence=f"The command is malformed: {problem}")


def malformed_state(state: object, n_joints: int, *, ahead_ns: int = 0) -> str | None:
    """Return why something is not the state of a robot with ``n_joints`` joints, or None.

    Args:
        state: What arrived.
        n_joints: How many joints the robot has.
        ahead_ns: How much later than now it says that it was observed, in ns.
    """
    if ahead_ns > CLOCK_ERROR_NS:
        # It would be the newest for that long, and no silence of the robot would be noticed.
        return f"it was observed {ahead_ns / 1e6:.0f} ms from now"
    if not isinstance(state, RobotState):
        return f"expected a RobotState, got {type(state).__name__}"
    for name in _STATE_ROWS:
        row = getattr(state, name)
        expected = (7,) if name == "world_from_tool" else (n_joints,)
        if not isinstance(row, np.ndarray) or row.dtype != np.float64 or row.shape != expected:
            return f"{name}: expected float64 of shape {expected}"
        if not (np.abs(row) <= LARGEST).all():
            return f"{name} is not finite"
    numbers = (state.gripper_width_m, state.gripper_target_m, state.gripper_force_n)
    if not all(type(x) is float and abs(x) <= LARGEST for x in numbers):
        return "gripper: expected finite numbers"
    if type(state.executing) is not int or type(state.at_rest) is not bool:
        return "executing and at_rest: expected a number and true or false"
    if not -1 <= state.executing <= _LARGEST_NUMBER:
        return f"executing: no command has the number {state.executing}"
    return None


def _problem(command: object, n_joints: int) -> str | None:
    if not isinstance(command, Command):
        return f"expected a Command, got {type(command).__name__}"
    if type(command.task) is not str or len(command.task) > 200:
        return "task: expected a token"
    if command.space not in ("joint", "pose", "gripper", "hold"):
        return f"space {command.space!r:.30}: expected joint, pose, gripper or hold"
    for name in ("period_ns", "start_ns", "deadline_ns"):
        value = getattr(command, name)
        if type(value) is not int or not 0 <= value < _INT64:
            return f"{name}: expected a whole number of ns, got {value!r:.30}"
    if type(command.ends_at_rest) is not bool:
        return f"ends_at_rest: expected true or false, got {command.ends_at_rest!r:.30}"
    return _array_problem(command, n_joints) or _gripper_problem(command)


def _array_problem(command: Command, n_joints: int) -> str | None:
    targets = command.targets
    if not isinstance(targets, np.ndarray) or targets.dtype != np.float64 or targets.ndim != 2:
        return "targets: expected float64 of shape (rows, columns)"
    if command.space in ("gripper", "hold"):
        return None if not len(targets) else f"targets: space {command.space} has none"
    rows, columns = targets.shape
    expected = _COLUMNS.get(command.space, n_joints)
    if columns != expected or not 1 <= rows <= MAX_ROWS:
        return (
            f"targets: expected 1 to {MAX_ROWS} rows of {expected} numbers for space "
            f"{command.space}, got shape {targets.shape}"
        )
    # A huge number is as little a place as NaN, which every comparison is false with.
    sane = np.abs(targets) <= LARGEST
    if not sane.all():
        row, column = np.argwhere(~sane)[0]
        return f"targets: row {row}, column {column} is {targets[row, column]}"
    if command.period_ns < SHORTEST_PERIOD_NS:
        return f"period_ns: expected at least {SHORTEST_PERIOD_NS} for rows"
    if command.space == "pose" and not _unit(targets[:, 3:]):
        return "targets: a quaternion (w, x, y, z) is not of length 1"
    return None


def _unit(quaternions: np.ndarray) -> bool:
    return bool((np.abs(np.linalg.norm(quaternions, axis=1) - 1.0) <= 1e-2).all())


def _gripper_problem(command: Command) -> str | None:
    gripper, force = command.gripper_m, command.gripper_force_n
    if not isinstance(gripper, np.ndarray) or gripper.dtype != np.float64 or gripper.ndim != 1:
        return "gripper_m: expected float64 of shape (rows,), (1,) or (0,)"
    if command.space == "hold" and gripper.size:
        # A hold is admitted unchecked, so that nothing keeps the arm from stopping.
        return "gripper_m: space hold moves no gripper; use space gripper"
    if command.space == "gripper" and gripper.size != 1:
        return f"gripper_m: space gripper needs 1 value, got {gripper.size}"
    if gripper.size not in (0, 1, len(command.targets)):
        return f"gripper_m: expected 0, 1 or {len(command.targets)} values, got {gripper.size}"
    if not np.isfinite(gripper).all():
        return f"gripper_m: {gripper[~np.isfinite(gripper)][0]} is not finite"
    if type(force) not in (float, int) or not 0 < force < 1e4:
        return f"gripper_force_n: expected a force above 0 N, got {force!r:.30}"
    return None
