"""Does this policy fit this robot? Asked before anything moves; a mismatch is no failed trial.

Three moments: before connecting (preset against robot), after the server's greeting (metadata
against preset), after the first answer (chunk against preset).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlock.messages.errors import nearest
from interlock.operators.rotations import REPRESENTATIONS
from interlock.policies.vla.errors import Mismatch, SetupError
from interlock.policies.vla.transforms import GripperConvention, unit_factor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from interlock.policies.vla.preset import Field, Preset, StatePart
    from interlock.policies.vla.robot import RobotContract


def check_robot(preset: Preset, robot: RobotContract) -> None:
    """Raise SetupError listing everything in which preset and robot disagree."""
    found = [
        *_robot_name(preset, robot),
        *_observation(preset, robot),
        *_action(preset, robot),
    ]
    if found:
        raise SetupError(preset.name, found)


def check_metadata(preset: Preset, metadata: Mapping[str, Any]) -> None:
    """Raise SetupError where the server says something else about itself than the preset.

    A server that says nothing is believed to be what the preset says. Understood are
    ``action_width`` (or ``action_dim``), ``action_horizon``, ``rate_hz`` (or ``control_rate_hz``,
    ``fps``), ``gripper``, ``quaternion_order`` and ``observation_keys``.
    """
    found = [*_server_numbers(preset, metadata), *_server_names(preset, metadata)]
    if found:
        raise SetupError(preset.name, found)


def check_chunk(preset: Preset, actions: NDArray[np.floating]) -> None:
    """Raise SetupError unless the first answer has the declared width and horizon."""
    action, found = preset.action, []
    expected = action.padded_width or action.width
    if actions.shape[1] != expected:
        hint = " (set action.padded_width if it is padding)" if actions.shape[1] > expected else ""
        found.append(
            Mismatch(name="action width", expected=str(expected), got=f"{actions.shape[1]}{hint}")
        )
    if action.horizon and len(actions) != action.horizon:
        found.append(
            Mismatch(name="action horizon", expected=str(action.horizon), got=str(len(actions)))
        )
    if found:
        raise SetupError(preset.name, found)


def _robot_name(preset: Preset, robot: RobotContract) -> Iterator[Mismatch]:
    if preset.robots and robot.robot not in preset.robots:
        yield Mismatch(name="robot", expected=" or ".join(preset.robots), got=robot.robot)


def _observation(preset: Preset, robot: RobotContract) -> Iterator[Mismatch]:
    for key, field in preset.observation.fields.items():
        if field.camera is not None:
            name = preset.camera(field.camera)
            if name not in robot.cameras:
                yield Mismatch(
                    name=f"camera for {key!r}",
                    expected=name,
                    got=f"no such camera; {nearest(name, robot.cameras)}; "
                    f"set cameras.{field.camera} to one of {', '.join(robot.cameras) or 'none'}",
                )
        yield from _state(key, field, robot)


def _state(key: str, field: Field, robot: RobotContract) -> Iterator[Mismatch]:
    columns = 0
    for part in field.state:
        spec = robot.state.get(part.field)
        if spec is None:
            yield Mismatch(
                name=f"state for {key!r}",
                expected=part.field,
                got=f"no such state; {nearest(part.field, robot.state)}; "
                f"the robot has {', '.join(sorted(robot.state))}",
            )
            return
        size = _part_size(part, spec.kind, spec.size)
        problem = _part_problem(part, spec.kind, spec.unit, size)
        if problem:
            yield Mismatch(
                name=f"state {part.field!r} for {key!r}", expected=problem[0], got=problem[1]
            )
            return
        columns += len(part.pick) or size
    if field.size and field.size != columns:
        yield Mismatch(name=f"size of {key!r}", expected=str(field.size), got=str(columns))


def _part_size(part: StatePart, kind: str, size: int) -> int:
    if kind == "rotation" and part.form is not None:
        return REPRESENTATIONS[part.form].size
    return 2 * size if part.fingers else size


def _part_problem(part: StatePart, kind: str, unit: str, size: int) -> tuple[str, str] | None:
    """Return what was expected and what was got, or None."""
    if (kind == "rotation") != (part.form is not None):
        if kind == "rotation":
            return "a form, e.g. quaternion_xyzw", "none; the order is never guessed"
        return "no form", f"{part.form}, but it is no rotation"
    if kind != "gripper" and (part.gripper is not None or part.fingers):
        return "gripper and fingers only for a gripper", kind
    if part.pick and max(part.pick) >= size:
        return f"pick below {size}", str(list(part.pick))
    if wrong := part.affine().wrong_length(len(part.pick) or size):
        return f"one value, or {len(part.pick) or size}", wrong
    if kind == "vector" or (kind == "gripper" and part.gripper is None):
        try:
            unit_factor(unit, to=part.unit)
        except ValueError as error:
            return f"a unit like {unit}", str(error)
    if kind == "rotation" and part.form in ("axis_angle", "roll_pitch_yaw", "euler_xyz"):
        return None if part.unit in ("rad", "deg") else ("unit rad or deg", part.unit)
    return None


def _action(preset: Preset, robot: RobotContract) -> Iterator[Mismatch]:
    action = preset.action
    if not action.parts:
        yield Mismatch(
            name="action.parts",
            expected="what every column means",
            got="nothing; a generic preset is completed with --policy-config",
        )
        return
    used = [column for part in action.parts for column in part.index]
    if sorted(used) != list(range(action.width)):
        missing = sorted(set(range(action.width)) - set(used))
        twice = sorted({c for c in used if used.count(c) > 1 or c >= action.width})
        yield Mismatch(
            name="action columns",
            expected=f"0 to {action.width - 1}, each in one part (or in one with target ignored)",
            got=f"missing {missing}, twice or too high {twice}",
        )
    targets = [part.target for part in action.parts if part.target != "ignored"]
    if len(targets) != len(set(targets)):
        yield Mismatch(name="action targets", expected="each once", got=", ".join(targets))
    if "joints" in targets and {"hand_position", "hand_rotation"} & set(targets):
        yield Mismatch(name="action targets", expected="joints or the hand", got=", ".join(targets))
    for part in action.parts:
        sizes = {"joints": robot.joints, "gripper": robot.grippers, "hand_position": 3}
        expected = sizes.get(part.target, len(part.index))
        if len(part.index) != expected:
            yield Mismatch(
                name=f"columns of {part.target}", expected=str(expected), got=str(len(part.index))
            )
    low, high = robot.rates_hz
    if not (low <= action.rate_hz <= high):
        yield Mismatch(name="rate_hz", expected=f"{low:g} to {high:g}", got=f"{action.rate_hz:g}")


def _server_numbers(preset: Preset, metadata: Mapping[str, Any]) -> Iterator[Mismatch]:
    action = preset.action
    expected = {
        "action_width": action.padded_width or action.width,
        "action_dim": action.padded_width or action.width,
        "action_horizon": action.horizon,
        "rate_hz": action.rate_hz,
        "control_rate_hz": action.rate_hz,
        "fps": action.rate_hz,
    }
    for name, ours in expected.items():
        theirs = metadata.get(name)
        if isinstance(theirs, int | float) and ours and not abs(theirs - ours) < 1e-6:
            yield Mismatch(name=name, expected=f"{ours:g} (preset)", got=f"{theirs:g} (server)")


def _server_names(preset: Preset, metadata: Mapping[str, Any]) -> Iterator[Mismatch]:
    keys = metadata.get("observation_keys")
    if isinstance(keys, list | tuple):
        lacking = [str(k) for k in keys if k not in preset.observation.fields]
        if lacking:
            sent = ", ".join(sorted(preset.observation.fields))
            yield Mismatch(name="observation keys", expected=", ".join(lacking), got=f"only {sent}")
    ours = next((p.gripper for p in preset.action.parts if p.gripper), None)
    theirs = metadata.get("gripper")
    if isinstance(theirs, str) and ours and not _same_gripper(ours, theirs):
        yield Mismatch(name="gripper", expected=f"{ours} (preset)", got=f"{theirs} (server)")
    order = metadata.get("quaternion_order")
    forms = [p.form for f in preset.observation.fields.values() for p in f.state if p.form]
    for form in [*forms, *(p.form for p in preset.action.parts if p.form)]:
        if isinstance(order, str) and form.startswith("quaternion_") and not form.endswith(order):
            yield Mismatch(
                name="quaternion order", expected=f"{form} (preset)", got=f"{order} (server)"
            )


def _same_gripper(ours: str, theirs: str) -> bool:
    try:
        return GripperConvention.parse(ours) == GripperConvention.parse(theirs)
    except ValueError:
        return False
