"""The simulated arm behind its driver port: physics and servo in steps of 2 ms, no clock.

The node advances it to a time; between calls of ``advance`` nothing happens. It follows the
admitted command that it has to the end of its stop, whether or not anybody still talks to it.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.gate.driver_port import DriverPort, SetPoint
from interlock.messages import AdmittedCommand, RobotState
from interlock.robots.invalid import SimulationInvalid
from interlock.robots.world import SimWorld

if TYPE_CHECKING:
    from interlock.robots.scene import Scene

#: The tool is at rest below this speed, in m/s (DESIGN section 5).
REST_SPEED_MPS = 0.005
#: A host that was suspended for longer than this does not catch up: that time is not simulated,
#: once the arm has come to rest.
MAX_CATCH_UP_NS = 1_000_000_000


class SimDriver:
    """One simulated arm; safe to use from the physics thread and the event loop.

    Attributes:
        world: The simulated world.
        port: The driver's end of the Gate.
        fault: Why the simulation can't go on; empty while it can.
        lost_ns: Time that the host was suspended and that was not simulated.
    """

    def __init__(self, scene: Scene, *, key: bytes, run_id: str) -> None:
        self.world = SimWorld(scene)
        self.port = DriverPort(key, run=run_id, position=self.world.position)
        self.lock = threading.Lock()
        self.fault = ""
        self.lost_ns = 0
        self._dt_ns = self.world.timestep_ns
        self._now_ns: int | None = None
        self._set_point = self.port.set_point(0)
        self._gripper = (self.world.gripper_width_m, 0.0)
        self._physics = np.zeros(self.world.state_size)
        self._peaks: dict[str, float] = {}

    @property
    def now_ns(self) -> int:
        """Time of the last physics step, in ns on the dataflow's clock."""
        return self._now_ns or 0

    def advance(self, now_ns: int) -> None:
        """Step the physics up to a time."""
        with self.lock:
            self._advance(now_ns)

    def _advance(self, now_ns: int) -> None:
        if self._now_ns is None:
            self._now_ns = now_ns
        if now_ns - self._now_ns > MAX_CATCH_UP_NS:
            # The motion it has is followed to its rest all the same, or the arm would jump there.
            self._simulate(min(now_ns, self.port.rest_ns))
            self.lost_ns += now_ns - self._now_ns
            self._now_ns = now_ns
        self._simulate(now_ns)

    def _simulate(self, until_ns: int) -> None:
        assert self._now_ns is not None
        steps = (until_ns - self._now_ns) // self._dt_ns
        try:
            while steps > 0 and not self.fault:
                steps -= self._step(steps)
        except SimulationInvalid as error:
            self.fault = str(error)

    def _step(self, steps: int) -> int:
        """Take up to ``steps`` physics steps along the commanded motion; return how many."""
        assert self._now_ns is not None
        first_ns = self._now_ns + self._dt_ns
        point = self.port.set_point(first_ns)
        if point.gripper_m is not None:
            gripper = (point.gripper_m, point.gripper_force_n)
            if gripper != self._gripper:
                self._gripper = gripper
                self.world.set_gripper(*gripper)
        positions, velocities = self.port.path(first_ns, self._dt_ns, steps)
        self._now_ns += len(positions) * self._dt_ns
        self.world.follow(positions, velocities)
        self._set_point = self.port.set_point(self._now_ns)
        return len(positions)

    def accept(self, command: AdmittedCommand, now_ns: int) -> str | None:
        """Hand a command to the port; return why it is refused, or None."""
        with self.lock:
            return self.port.accept(command, now_ns)

    def disturb(self, action: str, values: dict[str, Any]) -> None:
        """Push, put, remove, attach or detach something in the simulated world.

        Raises:
            RobotError: If the world can't do that.
        """
        arrays = {k: np.array(v, float) if isinstance(v, list) else v for k, v in values.items()}
        with self.lock:
            getattr(self.world.disturbances, action)(**arrays)

    def peak_forces_n(self) -> dict[str, float]:
        """Return the largest contact force of the robot on each thing so far, in N."""
        with self.lock:
            for name, force in self.world.forces.take_peaks_n().items():
                self._peaks[name] = max(force, self._peaks.get(name, 0.0))
            return dict(self._peaks)

    @property
    def at_rest(self) -> bool:
        """True when the tool is measured at rest and the set-point stands still."""
        return self._stands_still and self.world.tool_speed_m_s <= REST_SPEED_MPS

    @property
    def _stands_still(self) -> bool:
        return self._set_point.phase == "hold" and not self._set_point.velocity.any()

    @property
    def set_point(self) -> SetPoint:
        """Where the arm is told to be."""
        return self._set_point

    def state(self) -> RobotState:
        """Return what is measured and commanded at the last physics step."""
        with self.lock:
            world, point = self.world, self._set_point
            speed_mps = world.tool_speed_m_s
            world.read_state(self._physics)
            return RobotState(
                position=world.position,
                velocity=world.velocity,
                commanded_position=point.position,
                commanded_velocity=point.velocity,
                commanded_acceleration=point.acceleration,
                gripper_width_m=world.gripper_width_m,
                gripper_target_m=self._gripper[0],
                gripper_force_n=world.gripper_force_n,
                world_from_tool=world.tool_pose,
                tool_speed_mps=speed_mps,
                at_rest=self._stands_still and speed_mps <= REST_SPEED_MPS,
                executing=point.executing,
                phase=point.phase,
                refused=self.port.refused_count,
                refusal=self.port.refusal,
                fault=self.fault,
                physics=self._physics.copy(),
                step=world.step_count,
            )
