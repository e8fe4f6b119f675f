"""What the robot and the world around it are like: state, object poses, world values."""

from __future__ import annotations

from dataclasses import dataclass, field

from interlock.messages.columns import Integers, Matrix, Vector, empty


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RobotState:
    """Proprioception of one arm, measured and commanded, from the driver.

    Attributes:
        position: Measured joint position, shape (n_joints,), in rad.
        velocity: Measured joint velocity, shape (n_joints,), in rad/s.
        commanded_position: Set-point of the servo now, shape (n_joints,), in rad.
        commanded_velocity: Set-point velocity, shape (n_joints,), in rad/s.
        commanded_acceleration: Set-point acceleration, shape (n_joints,), in rad/s^2.
        gripper_width_m: Measured distance between the fingers, in m.
        gripper_target_m: Commanded distance between the fingers, in m.
        gripper_force_n: Measured grip force, in N.
        world_from_tool: Measured end-effector pose, shape (7,): m, then quaternion w, x, y, z.
        tool_speed_mps: Measured speed of the tool point, in m/s.
        at_rest: True when the tool is measured slower than 5 mm/s and the set-point stands still.
        executing: Number of the admitted command being executed or held; -1 before the first.
        phase: ``segment`` (moving as told), ``stop`` (in the verified stop) or ``hold``.
        refused: Commands that the driver has refused so far (seal, replay, continuity).
        refusal: Why it refused the last one; empty if it refused none.
        fault: Why the driver can't go on (e.g. unstable simulation); empty if it can.
        physics: Full state of the simulator for cameras, shape (n_state,); empty on hardware.
        step: Count of physics or servo steps.
    """

    position: Vector
    velocity: Vector
    commanded_position: Vector
    commanded_velocity: Vector
    commanded_acceleration: Vector
    gripper_width_m: float
    gripper_target_m: float
    gripper_force_n: float
    world_from_tool: Vector
    tool_speed_mps: float
    at_rest: bool
    executing: int = -1
    phase: str = "hold"
    refused: int = 0
    refusal: str = ""
    fault: str = ""
    physics: Vector = field(default_factory=empty)
    step: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ObjectPoses:
    """Where a tracker believes objects to be.

    Attributes:
        names: One name per object, e.g. ``"cup_red"``.
        world_from_object: Poses, shape (n_objects, 7): m, then quaternion w, x, y, z.
        confidence: Shape (n_objects,), 0 to 1.
        observed_ns: When each object was last seen, shape (n_objects,), in ns.
    """

    names: tuple[str, ...]
    world_from_object: Matrix
    confidence: Vector
    observed_ns: Integers


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldValue:
    """A value that a person, a model or a perception node puts into the World.

    Attributes:
        key: Name of the value.
        value: The value as JSON text, at most 64 KiB.
    """

    key: str
    value: str
