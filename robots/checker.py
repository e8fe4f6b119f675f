"""Distances of the Panda's safety envelope to obstacles and to itself, for the Gate's checks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.robots import kinematics, panda
from interlock.robots.broad_phase import BroadPhase
from interlock.robots.checker_model import (
    build_checker_model,
    half_extents,
    obstacle_geom,
    part_names,
    watched_pairs,
)
from interlock.robots.geometry import (
    JointLimits,
    ObstacleLike,
    Proximity,
    RobotError,
    Vector,
    check_pose,
)
from interlock.robots.physics import mujoco

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_N = panda.N_JOINTS
# Bounds on speed count something held that reaches this far from the tool point, held or not,
# so that a bound taken once stays one. Nothing that reaches farther can be held.
PAYLOAD_REACH_M = 0.12
_FARTHEST_M, _TOUCHING_M = 1.0, 0.001


class PandaChecker:
    """Kinematics, limits and distances of one Panda at the world's origin.

    Owns its model; use one per Gate and thread. Link 0 is fixed and is compared with the arm
    only. Pairs of links that always touch are left out.

    Attributes:
        joint_names: Names of the joints, in order.
        limits: Franka's limits of the joints.
        gripper_width_range_m: Smallest and largest distance of the pads, in m.
    """

    joint_names = panda.JOINT_NAMES
    limits: JointLimits = panda.LIMITS
    gripper_width_range_m = panda.GRIPPER_WIDTH_RANGE_M

    def __init__(self, obstacles: Sequence[ObstacleLike] = ()) -> None:
        self._hold_position: Vector = panda.HOME.copy()
        self._width_m: float | None = None
        self.set_obstacles(obstacles)

    def forward(self, position: Vector) -> Vector:
        """Return world_from_tool, shape (7,), for joint positions of shape (7,), in rad."""
        return kinematics.forward(position)

    def inverse(self, world_from_tool: Vector, seed: Vector) -> Vector | None:
        """Return verified joint positions near ``seed`` that reach a pose; None if none."""
        return kinematics.inverse(world_from_tool, seed)

    def tool_speed(self, position: Vector, velocity: Vector) -> float:
        """Return the speed of the tool point, in m/s."""
        return kinematics.tool_speed(position, velocity)

    def fastest_point_speed(self, position: Vector, velocity: Vector) -> float:
        """Return an upper bound on the speed of any point of the arm and of a payload, in m/s."""
        return kinematics.fastest_point_speed(position, velocity, payload_m=PAYLOAD_REACH_M)

    def set_obstacles(self, obstacles: Sequence[ObstacleLike]) -> None:
        """Declare every obstacle; nothing is held afterwards. Compiles a model (milliseconds).

        Raises:
            RobotError: If an obstacle is not usable.
        """
        model: Any = build_checker_model(obstacles)
        self._model = model
        self._data: Any = mujoco.MjData(model)
        self._geoms = {obstacle.name: obstacle_geom(model, obstacle.name) for obstacle in obstacles}
        self._mocaps = {
            name: int(model.body_mocapid[model.geom_bodyid[geom]])
            for name, geom in self._geoms.items()
        }
        self._parts = part_names(model)
        self._hand = int(model.body("hand").id)
        self._broad = BroadPhase(half_extents(model), self._data.geom_xpos, self._data.geom_xmat)
        self._held: str | None = None
        self._hand_from_held = np.zeros(7)
        self.set_gripper_width(self._width_m)

    def move_obstacle(self, name: str, world_from_obstacle: Vector) -> None:
        """Move one declared obstacle; one that is held stays in the hand.

        Raises:
            RobotError: If it was not declared or the pose is not one.
        """
        if name == self._held:
            return
        mocap = self._mocaps[self._known(name)]
        check_pose(name, world_from_obstacle)
        self._data.mocap_pos[mocap] = world_from_obstacle[:3]
        self._data.mocap_quat[mocap] = world_from_obstacle[3:]

    def set_gripper_width(self, width_m: float | None) -> None:
        """Place the fingers at a measured width; None (the start) means anywhere in their range.

        Raises:
            RobotError: If the width is not a number within the range.
        """
        low, high = self.gripper_width_range_m
        if width_m is not None and not low - 0.005 <= width_m <= high + 0.005:
            raise RobotError(f"gripper width {width_m} m is outside {low} to {high} m")
        self._width_m = width_m
        self._data.qpos[_N : _N + 2] = 0.0 if width_m is None else width_m / 2
        self._pair_up()

    def hold_at(self, position: Vector) -> None:
        """Set the joint positions, in rad, at which ``hold`` attaches or releases."""
        self._hold_position = _finite(position).copy()

    def hold(self, name: str | None) -> None:
        """Say which obstacle the gripper holds; None releases it where it is.

        What is held moves with the hand, may touch link 7, hand and fingers, and is itself
        compared with the other obstacles and with links 1 to 6.

        Raises:
            RobotError: If it was not declared, or reaches too far from the tool point.
        """
        if self._held is not None:
            self._release()
        if name is None:
            return
        mocap = self._mocaps[self._known(name)]
        self._place(self._hold_position)
        hand_from_world, world_from_held = np.zeros(7), np.zeros(7)
        world_from_held[:3] = self._data.mocap_pos[mocap]
        world_from_held[3:] = self._data.mocap_quat[mocap]
        x, q = self._data.xpos[self._hand], self._data.xquat[self._hand]
        mujoco.mju_negPose(hand_from_world[:3], hand_from_world[3:], x, q)
        _multiply(self._hand_from_held, hand_from_world, world_from_held)
        offset = self._hand_from_held[:3] - (0.0, 0.0, panda.TCP_Z_M)
        reach = math.hypot(*offset) + float(self._model.geom_rbound[self._geoms[name]])
        if not reach <= PAYLOAD_REACH_M:
            raise RobotError(
                f"{name!r} reaches {reach:.3f} m from the tool point; at most {PAYLOAD_REACH_M} m "
                "can be held. Is the gripper where it is?"
            )
        self._held = name
        self._pair_up()

    def proximities(
        self, position: Vector, within_m: float, others: Collection[str] | None = None
    ) -> Sequence[Proximity]:
        """Return every pair (robot part, obstacle) and self pair closer than ``within_m``.

        Args:
            position: Joint positions, shape (7,), in rad.
            within_m: Only pairs closer than this are returned, in m.
            others: Only these obstacles matter, e.g. people far away; None means everything.

        Raises:
            RobotError: If the position or the distance is not finite.
        """
        if not 0.0 <= within_m <= _FARTHEST_M:
            raise RobotError(f"within_m {within_m} is outside 0 to {_FARTHEST_M} m")
        self._place(position)
        if self._held is not None:
            self._carry(self._geoms[self._held])
        near = self._broad.near(within_m)
        if others is not None:
            near = [pair for pair in near if self._parts[pair[1]] in others]
        return self._measure(near, within_m)

    def _measure(self, pairs: list[tuple[int, int]], within_m: float) -> list[Proximity]:
        closest: dict[tuple[str, str], float] = {}
        model, data, parts = self._model, self._data, self._parts
        # Two boxes with one centre are reported as 0.0 apart, which must not read as clear.
        farthest_m = max(within_m, _TOUCHING_M)
        for first, second in pairs:
            distance = mujoco.mj_geomDistance(model, data, first, second, farthest_m, None)
            if not (distance > 0.0 and distance >= within_m):
                names = parts[first], parts[second]
                if not distance >= closest.get(names, math.inf):
                    closest[names] = distance
        return [Proximity(d, part, other) for (part, other), d in closest.items()]

    def _pair_up(self) -> None:
        held = None if self._held is None else self._geoms[self._held]
        obstacles = [geom for geom in self._geoms.values() if geom != held]
        self._broad.watch(watched_pairs(self._model, obstacles, held, swept=self._width_m is None))

    def _carry(self, geom: int) -> None:
        """Put what is held into the hand."""
        world_from_held, world_from_geom = np.zeros(7), np.zeros(7)
        self._held_pose(world_from_held)
        held_from_geom = np.concatenate([self._model.geom_pos[geom], self._model.geom_quat[geom]])
        _multiply(world_from_geom, world_from_held, held_from_geom)
        self._data.geom_xpos[geom] = world_from_geom[:3]
        mujoco.mju_quat2Mat(self._data.geom_xmat[geom], world_from_geom[3:])

    def _held_pose(self, out: Vector) -> None:
        x, q = self._data.xpos[self._hand], self._data.xquat[self._hand]
        world_from_hand = np.concatenate([x, q])
        _multiply(out, world_from_hand, self._hand_from_held)

    def _release(self) -> None:
        name = str(self._held)
        self._place(self._hold_position)
        pose = np.zeros(7)
        self._held_pose(pose)
        self._held = None
        self._pair_up()
        self.move_obstacle(name, pose)

    def _place(self, position: Vector) -> None:
        self._data.qpos[:_N] = _finite(position)
        mujoco.mj_kinematics(self._model, self._data)

    def _known(self, name: str) -> str:
        if name not in self._geoms:
            known = ", ".join(self._geoms) or "none"
            raise RobotError(f"obstacle {name!r} was not declared; known: {known}")
        return name


def _finite(position: Vector) -> Vector:
    # NaN would make every distance vanish from the list, which reads as clear.
    if position.shape != (_N,) or not math.isfinite(float(position.sum())):
        raise RobotError(f"expected {_N} finite joint positions, got {position}")
    return position


def _multiply(out: Vector, first: Vector, second: Vector) -> None:
    mujoco.mju_mulPose(out[:3], out[3:], first[:3], first[3:], second[:3], second[3:])
