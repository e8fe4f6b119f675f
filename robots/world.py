"""The simulated robot and its scene: servo, gripper, physics, and what is measured of them.

Nothing here reads a clock; time is the number of steps taken. The same scene, seed and commands
give bit-identical states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.robots import kinematics, panda, panda_model
from interlock.robots.contacts import ContactForces
from interlock.robots.disturbances import Disturbances
from interlock.robots.geometry import RobotError, Vector
from interlock.robots.invalid import SimulationInvalid, WarningWatch
from interlock.robots.layout import Layout, draw_layout, layout_hash
from interlock.robots.physics import mujoco

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlock.robots.scene import Scene

_STATE = int(mujoco.mjtState.mjSTATE_INTEGRATION)
_N = panda.N_JOINTS
# A command beyond a joint limit by more than this is no servo command but a broken caller.
_SERVO_SLACK_RAD = 0.2
_SERVO_LOW = panda.LIMITS.position_low - _SERVO_SLACK_RAD
_SERVO_HIGH = panda.LIMITS.position_high + _SERVO_SLACK_RAD
_SERVO_VELOCITY = 4 * panda.LIMITS.velocity


class SimWorld:
    """One scene being simulated; owns its model and data.

    Attributes:
        model: The MuJoCo model.
        data: The MuJoCo data; cameras read it.
        step_count: Physics steps since the reset.
        layout: world_from_object at the reset, shape (7,) each.
        layout_hash: SHA-256 of the layout.
        forces: Contact forces of the robot.
        disturbances: Pushes, removals and attachments, for experiments.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.model: Any = scene.model
        self.data: Any = mujoco.MjData(self.model)
        self.timestep_s = float(self.model.opt.timestep)
        self.timestep_ns = round(self.timestep_s * 1e9)
        self._qpos, self._qvel, self._ctrl = self.data.qpos, self.data.qvel, self.data.ctrl
        self._positions, self._velocities = self._ctrl[0 : 2 * _N : 2], self._ctrl[1 : 2 * _N : 2]
        grip = int(self.model.actuator("grip").id)
        # A servo takes two numbers of ctrl, so an actuator's index is not its place there.
        self._grip_ctrl = int(self.model.actuator_ctrladr[grip])
        self._grip_range = self.model.actuator_forcerange[grip]
        self._tcp = int(self.model.site("tcp").id)
        self._bodies = {item.name: int(self.model.body(item.name).id) for item in scene.objects}
        self._state_size = int(mujoco.mj_stateSize(self.model, _STATE))
        self._warnings = WarningWatch(self.model, self.data)
        self.forces = ContactForces(scene.settings, self.data)
        self.disturbances = Disturbances(scene.settings, self.model, self.data)
        self.step_count = 0
        self.layout: Layout = scene.layout
        self.layout_hash = scene.layout_hash
        self._restart()

    def reset(self, seed: int) -> str:
        """Begin again with the layout of a seed; return the layout's hash."""
        self.layout = draw_layout(self.scene.settings, seed)
        self.layout_hash = layout_hash(self.layout)
        self._restart()
        return self.layout_hash

    def set_servo(self, position: Vector, velocity: Vector) -> None:
        """Set what the joint servo follows from now on.

        Args:
            position: Joint positions, shape (7,), in rad.
            velocity: Joint velocities at that instant, shape (7,), in rad/s.

        Raises:
            SimulationInvalid: If a value is not finite or far outside the limits.
        """
        fits = _followable(position, velocity)
        if not fits.all():
            joint = int(np.argmin(fits))
            raise SimulationInvalid(
                f"servo command {position[joint]:.4g} rad at {velocity[joint]:.4g} rad/s is "
                f"outside {_SERVO_LOW[joint]:.4g} to {_SERVO_HIGH[joint]:.4g} rad",
                step=self.step_count,
                dof=panda.JOINT_NAMES[joint],
            )
        self._positions[:] = position
        self._velocities[:] = velocity

    def follow(self, positions: Vector, velocities: Vector) -> None:
        """Advance one physics step per row, with the servo at that row.

        Args:
            positions: Joint positions, shape (n, 7), in rad.
            velocities: Joint velocities, shape (n, 7), in rad/s.

        Raises:
            SimulationInvalid: If a row is no servo command, or MuJoCo warned in a step.
        """
        if not _followable(positions, velocities).all():
            for position, velocity in zip(positions, velocities, strict=True):
                self.set_servo(position, velocity)
        for position, velocity in zip(positions, velocities, strict=True):
            self._positions[:] = position
            self._velocities[:] = velocity
            self._step_once()
        mujoco.mj_kinematics(self.model, self.data)

    def set_gripper(self, width_m: float, force_n: float = panda_model.GRIP_FORCE_N) -> None:
        """Set the distance of the pads, in m, and the most force of each pad, in N.

        Raises:
            SimulationInvalid: If a value is not a number within its range.
        """
        low, high = panda.GRIPPER_WIDTH_RANGE_M
        weakest, strongest = panda.GRIPPER_FORCE_RANGE_N
        if not (low <= width_m <= high and weakest <= force_n <= strongest):
            raise SimulationInvalid(
                f"width {width_m:.4g} m or force {force_n:.4g} N is outside {low} to {high} m "
                f"or {weakest} to {strongest} N",
                step=self.step_count,
                dof="gripper",
            )
        self._ctrl[self._grip_ctrl] = width_m / 2
        # The tendon is the mean of both fingers: each pad gets half of its force.
        self._grip_range[0], self._grip_range[1] = -2 * force_n, 2 * force_n

    def step(self, n: int = 1) -> None:
        """Advance the physics by ``n`` steps.

        Raises:
            SimulationInvalid: If MuJoCo warned in one of them.
        """
        for _ in range(n):
            self._step_once()
        # mj_step leaves the poses of the state before the last step.
        mujoco.mj_kinematics(self.model, self.data)

    def _step_once(self) -> None:
        if self.disturbances.active:
            self.disturbances.advance()
        mujoco.mj_step(self.model, self.data)
        self._warnings.check(self.step_count)
        self.step_count += 1
        self.forces.note()

    @property
    def position(self) -> Vector:
        """Measured joint positions, shape (7,), in rad."""
        return np.array(self._qpos[:_N])

    @property
    def velocity(self) -> Vector:
        """Measured joint velocities, shape (7,), in rad/s."""
        return np.array(self._qvel[:_N])

    @property
    def gripper_width_m(self) -> float:
        """Measured distance of the pads, in m."""
        return float(self._qpos[_N] + self._qpos[_N + 1])

    @property
    def gripper_force_n(self) -> float:
        """Force with which each pad is driven inward, in N; negative when opening."""
        return float(-self.data.actuator_force[_N]) / 2

    @property
    def tool_pose(self) -> Vector:
        """Measured world_from_tool, shape (7,)."""
        rotation = self.data.site_xmat[self._tcp].tolist()
        quaternion = kinematics.quaternion_from_rotation(rotation)
        return np.array([*self.data.site_xpos[self._tcp], *quaternion])

    @property
    def tool_speed_m_s(self) -> float:
        """Measured speed of the tool point, in m/s."""
        return kinematics.tool_speed(self._qpos[:_N], self._qvel[:_N])

    def object_pose(self, name: str) -> Vector:
        """Return the true world_from_object, shape (7,)."""
        body = self._bodies.get(name)
        if body is None:
            raise RobotError(f"no object {name!r} in this scene; known: {', '.join(self._bodies)}")
        return np.concatenate([self.data.xpos[body], self.data.xquat[body]])

    def object_poses(self) -> dict[str, Vector]:
        """Return the true world_from_object of every object, shape (7,) each."""
        return {name: self.object_pose(name) for name in self._bodies}

    @property
    def person_pose(self) -> Vector | None:
        """world_from_person_hand, shape (7,), or None when the scene has no person."""
        return self.disturbances.person_pose

    @property
    def state_size(self) -> int:
        """Numbers in the full physics state."""
        return self._state_size + self.disturbances.state_size + 2

    def read_state(self, out: Vector) -> None:
        """Write the full physics state into ``out``, shape (state_size,); allocates nothing."""
        mujoco.mj_getState(self.model, self.data, out[: self._state_size], _STATE)
        out[self._state_size : self._state_size + 2] = self._grip_range
        self.disturbances.read_state(out[self._state_size + 2 :])

    def write_state(self, state: Vector) -> None:
        """Continue from a state of ``read_state``; poses are up to date afterwards.

        Raises:
            RobotError: If the state is of another scene.
        """
        if state.shape != (self.state_size,):
            raise RobotError(
                f"a state of this scene has {self.state_size} numbers, got {state.shape}"
            )
        mujoco.mj_setState(self.model, self.data, state[: self._state_size], _STATE)
        self._grip_range[:] = state[self._state_size : self._state_size + 2]
        self.disturbances.write_state(state[self._state_size + 2 :])
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_camlight(self.model, self.data)

    def _restart(self) -> None:
        mujoco.mj_resetData(self.model, self.data)
        self.disturbances.reset()
        self._qpos[:_N] = panda.HOME
        self._qpos[_N : _N + 2] = panda.GRIPPER_WIDTH_RANGE_M[1] / 2
        for name, place in self.layout.items():
            self.data.joint(name).qpos[:] = place
        self.step_count = 0
        self.set_servo(panda.HOME, np.zeros(_N))
        self.set_gripper(panda.GRIPPER_WIDTH_RANGE_M[1])
        mujoco.mj_forward(self.model, self.data)
        self.forces.clear()
        self._warnings.check_start()


def _followable(position: Vector, velocity: Vector) -> NDArray[np.bool_]:
    inside = (position >= _SERVO_LOW) & (position <= _SERVO_HIGH)
    return inside & (np.abs(velocity) <= _SERVO_VELOCITY)
