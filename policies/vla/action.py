"""Turns a model's answer into absolute targets, decoded against the observation it answers.

The whole chunk starts from where the robot was when it was observed; it is never tied to a newer
state, which would make the arm drift or swing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from interlock.operators.chunk_mix import Chunk, Columns
from interlock.operators.rotations import REPRESENTATIONS, inverse, multiply, rotate, unit
from interlock.policies.vla.errors import NotFiniteError, PolicyError, ReplyError
from interlock.policies.vla.transforms import GripperConvention, unit_factor

if TYPE_CHECKING:
    from interlock.policies.vla.preset import ActionPart, Preset
    from interlock.policies.vla.robot import RobotContract, Snapshot

Array = NDArray[np.float64]


class ActionDecoder:
    """Decodes the chunks of one preset for one robot; both must fit.

    Rows hold the joints in rad, or the hand's position in m and its quaternion w, x, y, z; then
    the gripper's width in m, if the policy moves it.

    Attributes:
        space: joint or pose.
        columns: What the columns of decoded rows are.
    """

    def __init__(self, preset: Preset, robot: RobotContract) -> None:
        self._preset = preset
        self._robot = robot
        self._action = preset.action
        self._parts = {part.target: part for part in preset.action.parts}
        self.space: Literal["joint", "pose"] = "joint" if "joints" in self._parts else "pose"
        self.width = robot.joints if self.space == "joint" else 7
        grips = len(self._parts["gripper"].index) if "gripper" in self._parts else 0
        self.columns = Columns(
            discrete=tuple(range(self.width, self.width + grips)),
            quaternions=() if self.space == "joint" else (3,),
        )

    def decode(self, actions: NDArray[np.floating], snapshot: Snapshot) -> Chunk:
        """Return the chunk as absolute targets.

        Args:
            actions: As the model wrote them, shape (horizon, width or padded width), finite.
            snapshot: The observation that they answer.

        Raises:
            ReplyError: Too few or too many columns, or numbers that are no rotation.
        """
        self.check_width(actions)
        raw = np.asarray(actions[:, : self._action.width], np.float64)
        decode = self._joints if self.space == "joint" else self._pose
        origin, rows = decode(raw, snapshot)
        if "gripper" in self._parts:
            rows = np.concatenate([rows, self._gripper(raw)], axis=1)
            width = np.atleast_1d(snapshot.state["gripper_width"])
            origin = np.concatenate([origin, width])
        if not np.all(np.isfinite(rows)):
            raise NotFiniteError("the decoded chunk is not finite; check scale and offset")
        return Chunk(
            rows=rows,
            period_ns=round(1e9 / self._action.rate_hz),
            observation_id=snapshot.id,
            observed_ns=snapshot.observed_ns,
            origin=origin,
            raw=raw,
        )

    def check_width(self, actions: NDArray[np.floating]) -> None:
        """Raise ReplyError unless a row has exactly the columns that the preset declares."""
        expected = self._action.padded_width or self._action.width
        got = actions.shape[1]
        if got != expected:
            hint = (
                "; if the model pads its rows, set action.padded_width"
                if got > expected
                else "; the model was trained for another robot"
            )
            raise ReplyError(f"action width: expected {expected}, got {got}{hint}")

    def _anchor(self, name: str, snapshot: Snapshot) -> Array:
        wanted = name if self._action.anchor == "measured" else f"commanded_{name}"
        if wanted not in snapshot.state:
            raise PolicyError(
                f"action.anchor is {self._action.anchor}, but there is no state {wanted!r}"
            )
        return np.asarray(snapshot.state[wanted], np.float64)

    def _values(self, part: ActionPart, raw: Array) -> Array:
        return part.affine()(raw[:, list(part.index)])

    def _joints(self, raw: Array, snapshot: Snapshot) -> tuple[Array, Array]:
        part = self._parts["joints"]
        start = self._anchor("joint_position", snapshot)
        to = "rad/s" if part.mode == "velocity" else "rad"
        values = self._values(part, raw) * unit_factor(part.unit, to=to)
        return start, self._absolute(part, values, start)

    def _pose(self, raw: Array, snapshot: Snapshot) -> tuple[Array, Array]:
        position = self._anchor("hand_position", snapshot)
        turned = unit(self._anchor("hand_orientation", snapshot))
        rotations = self._rotations(raw, turned)
        rows = np.concatenate(
            [self._positions(raw, position, turned, rotations), rotations], axis=1
        )
        return np.concatenate([position, turned]), rows

    def _positions(self, raw: Array, start: Array, turned: Array, rotations: Array) -> Array:
        part = self._parts.get("hand_position")
        if part is None:
            return np.tile(start, (len(raw), 1))
        to = "m/s" if part.mode == "velocity" else "m"
        values = self._values(part, raw) * unit_factor(part.unit, to=to)
        if part.frame == "tool" and part.mode != "absolute":
            # Each step is along the axes of the tool as it was before that step.
            before = np.vstack([turned, rotations[:-1]]) if part.mode != "chunk_start" else turned
            values = rotate(before, values)
        return self._absolute(part, values, start)

    def _rotations(self, raw: Array, start: Array) -> Array:
        part = self._parts.get("hand_rotation")
        if part is None:
            return np.tile(start, (len(raw), 1))
        form = REPRESENTATIONS[str(part.form)]
        values = self._values(part, raw) * self._angle_factor(part)
        try:
            turns = form.to_wxyz(values)
        except ValueError as error:
            raise ReplyError(f"hand_rotation as {part.form}: {error}") from error
        if part.mode == "absolute":
            return turns

        # In base axes a turn comes after what is there; in tool axes it comes before.
        def compose(turn: Array, there: Array) -> Array:
            return multiply(turn, there) if part.frame == "base" else multiply(there, turn)

        if part.mode == "chunk_start":
            return unit(compose(turns, np.broadcast_to(start, turns.shape)))
        rows, current = [], start
        for turn in turns:
            current = unit(compose(turn, current))
            rows.append(current)
        return np.stack(rows)

    def _angle_factor(self, part: ActionPart) -> float:
        if part.form in ("quaternion_wxyz", "quaternion_xyzw", "rotation_6d"):
            return 1.0
        if part.mode == "velocity":
            return unit_factor(part.unit, to="rad/s") / self._action.rate_hz
        return unit_factor(part.unit, to="rad")

    def _absolute(self, part: ActionPart, values: Array, start: Array) -> Array:
        if part.mode == "absolute":
            return values
        if part.mode == "chunk_start":
            return start + values
        step = values / self._action.rate_hz if part.mode == "velocity" else values
        result: Array = start + np.cumsum(step, axis=0)
        return result

    def _gripper(self, raw: Array) -> Array:
        part = self._parts["gripper"]
        convention = GripperConvention.parse(str(part.gripper))
        share = convention.fraction(self._values(part, raw))
        if part.threshold is not None:
            share = np.where(share > part.threshold, 1.0, 0.0)
        width: Array = share * self._robot.gripper_max_m
        return width


def relative_rotation(origin: Array, rows: Array) -> Array:
    """Return the rotation from the origin to each row as axis times angle, in rad, for plots."""
    return REPRESENTATIONS["axis_angle"].from_wxyz(multiply(inverse(origin), rows))
