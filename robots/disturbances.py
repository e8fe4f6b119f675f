"""What an experiment does to a scene: push, remove, put, fasten, and move the person's hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from interlock.robots.geometry import RobotError, Vector, check_pose
from interlock.robots.physics import mujoco
from interlock.robots.scene_model import FLOOR_Z_M

if TYPE_CHECKING:
    from interlock.robots.scene_settings import SceneSettings

Carrier = Literal["hand", "person_hand"]

_WELD_POSE = slice(3, 10)  # where MuJoCo keeps the relative pose of a weld
_PARKING_M = (2.5, -2.5)


@dataclass(slots=True)
class _Push:
    qpos: Any
    per_step: Vector
    steps_left: int


class Disturbances:
    """Acts on one simulated world, between and during its steps."""

    def __init__(self, settings: SceneSettings, model: Any, data: Any) -> None:
        self._model, self._data = model, data
        self._objects = {item.name: item for item in settings.objects}
        self._joints = {name: data.joint(name) for name in self._objects}
        self._belt = int(model.geom("conveyor").id) if settings.conveyor else None
        self._has_person = settings.person is not None
        self._belt_speed_m_s = settings.conveyor.speed_m_s if settings.conveyor else 0.0
        self._pushes: list[_Push] = []

    @property
    def person_pose(self) -> Vector | None:
        """world_from_person_hand, shape (7,), or None when the scene has no person."""
        if not self._has_person:
            return None
        return np.concatenate([self._data.mocap_pos[0], self._data.mocap_quat[0]])

    @property
    def active(self) -> bool:
        """Whether ``advance`` has something to do."""
        return bool(self._pushes)

    def reset(self) -> None:
        """Forget pushes, fastenings and changes of the belt."""
        self._pushes.clear()
        self._data.eq_active[:] = self._model.eq_active0
        if self._belt is not None:
            self.set_belt(self._belt_speed_m_s)

    def advance(self) -> None:
        """Move what is being pushed by one step's worth."""
        for push in self._pushes:
            push.qpos[:3] += push.per_step
            push.steps_left -= 1
        self._pushes = [push for push in self._pushes if push.steps_left > 0]

    def push(self, name: str, by_m: Vector, duration_s: float) -> None:
        """Slide an object by a displacement, in m in the world, at constant speed.

        Raises:
            RobotError: If there is no such object, or the numbers make no push.
        """
        joint = self._joint(name)
        steps = round(duration_s / self._model.opt.timestep) if duration_s > 0 else 0
        displacement = np.asarray(by_m, dtype=np.float64)
        if steps < 1 or displacement.shape != (3,) or not np.isfinite(displacement).all():
            raise RobotError(f"push {name!r}: by {by_m} m in {duration_s} s is no push")
        self._pushes.append(_Push(joint.qpos, displacement / steps, steps))

    def put(self, name: str, world_from_object: Vector) -> None:
        """Put an object somewhere, at rest.

        Raises:
            RobotError: If there is no such object or the pose is not one.
        """
        joint = self._joint(name)
        check_pose(name, world_from_object)
        joint.qpos[:] = world_from_object
        joint.qvel[:] = 0.0
        mujoco.mj_kinematics(self._model, self._data)

    def remove(self, name: str) -> None:
        """Take an object away: it then stands on the floor, out of reach and out of sight."""
        self.detach(name)
        slot = list(self._objects).index(name)
        height = FLOOR_Z_M + self._objects[name].half_height_m
        x, y = _PARKING_M
        self.put(name, np.array([x - 0.25 * slot, y, height, 1.0, 0.0, 0.0, 0.0]))

    def attach(self, name: str, carrier: Carrier) -> None:
        """Fasten an object, as it is now, to the robot's or the person's hand.

        Raises:
            RobotError: If there is no such object or carrier.
        """
        self._joint(name)
        if carrier == "person_hand" and not self._has_person:
            raise RobotError(f"cannot fasten {name!r} to the person's hand: the scene has none")
        weld = self._model.equality(f"{name}@{carrier}")
        first, second = self._data.body(carrier), self._data.body(name)
        inverse, offset = np.zeros(4), second.xpos - first.xpos
        mujoco.mju_negQuat(inverse, first.xquat)
        relative = np.zeros(7)
        mujoco.mju_rotVecQuat(relative[:3], offset, inverse)
        mujoco.mju_mulQuat(relative[3:], inverse, second.xquat)
        self._model.eq_data[weld.id][_WELD_POSE] = relative
        self._data.eq_active[weld.id] = 1

    def detach(self, name: str) -> None:
        """Let go of a fastened object."""
        self._joint(name)
        for index in range(self._model.neq):
            if self._model.equality(index).name.startswith(f"{name}@"):
                self._data.eq_active[index] = 0

    def move_person(self, world_from_person_hand: Vector) -> None:
        """Put the person's hand somewhere.

        Raises:
            RobotError: If the scene has no person or the pose is not one.
        """
        if not self._has_person:
            raise RobotError("the scene has no person; use configs/scenes/person.yml")
        check_pose("person_hand", world_from_person_hand)
        self._data.mocap_pos[0] = world_from_person_hand[:3]
        self._data.mocap_quat[0] = world_from_person_hand[3:]
        mujoco.mj_kinematics(self._model, self._data)

    def set_belt(self, speed_m_s: float) -> None:
        """Set the speed of the conveyor's surface along y, in m/s.

        Raises:
            RobotError: If the scene has no conveyor or the speed is above 1 m/s.
        """
        if self._belt is None or not abs(speed_m_s) <= 1.0:
            raise RobotError(f"no conveyor in the scene, or {speed_m_s} m/s is outside -1 to 1")
        self._model.geom_surfacevel[self._belt][1] = speed_m_s

    @property
    def state_size(self) -> int:
        """Numbers that MuJoCo's own state leaves out: poses of fastenings, speed of the belt."""
        return int(self._model.neq) * 7 + (0 if self._belt is None else 1)

    def read_state(self, out: Vector) -> None:
        """Write those numbers into ``out``, shape (state_size,). Pushes under way are not kept."""
        out[: self._model.neq * 7].reshape(-1, 7)[:] = self._model.eq_data[:, _WELD_POSE]
        if self._belt is not None:
            out[-1] = self._model.geom_surfacevel[self._belt][1]

    def write_state(self, state: Vector) -> None:
        """Take those numbers back."""
        self._pushes.clear()
        self._model.eq_data[:, _WELD_POSE] = state[: self._model.neq * 7].reshape(-1, 7)
        if self._belt is not None:
            self._model.geom_surfacevel[self._belt][1] = state[-1]

    def _joint(self, name: str) -> Any:
        if name not in self._joints:
            known = ", ".join(self._joints) or "none"
            raise RobotError(f"no object {name!r} in this scene; known: {known}")
        return self._joints[name]
