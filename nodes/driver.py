"""Driver node of an arm that somebody else's controller moves: admitted commands to set-points.

Inputs:   command (AdmittedCommand, from the Gate only), tick.
Outputs:  set_point (RobotState: what the arm is told; measured values are not filled in), event.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from interlock.gate.driver_port import DriverPort
from interlock.gate.graph import require_only_way
from interlock.messages import (
    AdmittedCommand,
    Event,
    Output,
    RobotState,
    SettingsError,
    owned,
)
from interlock.nodes._node import Context, Node
from interlock.nodes._seal_key import seal_key
from interlock.robots import kinematics, panda

if TYPE_CHECKING:
    from collections.abc import Iterable

    from interlock.messages import Received
    from interlock.messages.columns import Vector


class DriverNode(Node):
    """Follows the newest admitted motion to its end at rest, whatever happens to the Gate."""

    @dataclass(frozen=True, kw_only=True)
    class Settings:
        """What the dataflow may set.

        Attributes:
            start: Where the arm stands when the run begins, as JSON, in rad; empty is the Panda's
                home position. Whoever passes set-points on holds them back while the arm is
                elsewhere.
            gripper_m: Distance between the fingers before the first command, in m.
        """

        start: str = ""
        gripper_m: float = 0.08

    inputs: ClassVar = {"command": AdmittedCommand}
    nice: ClassVar = -10
    outputs: ClassVar = {"set_point": RobotState, "event": Event}

    def __init__(self, settings: Settings, context: Context) -> None:
        super().__init__(settings, context)
        start = _start(settings.start)
        self.port = DriverPort(seal_key(context), run=context.run_id, position=start)
        self._gate_gone = ""
        self._count = 0

    def on_start(self, now_ns: int) -> Iterable[Output]:
        """Refuse a dataflow with another way to the arm."""
        if self.context.dataflow or not self.context.lockstep:
            require_only_way(self.context.dataflow, self.context.dataflow_dir)
        return ()

    def on_command(self, received: Received[AdmittedCommand], now_ns: int) -> Iterable[Output]:
        """Take a command, if it is the Gate's and continues what the arm is doing."""
        refusal = self.port.accept(owned(received.message), now_ns)
        if refusal is not None:
            text = f"driver refused a command: {refusal}"
            yield Output(output="event", message=Event(kind="warning", text=text))

    def on_tick(self, now_ns: int) -> Iterable[Output]:
        """Say where the arm is to be now."""
        told = self._told(now_ns)
        yield Output(output="set_point", message=told, observed_ns=now_ns)
        if self._gate_gone and told.at_rest:
            if self._gate_gone == "ended":
                self.finished = "the Gate has ended and the set-point is at rest"
            else:
                self.failed = f"node gate {self._gate_gone}; the set-point is at rest"

    def on_closed(self, input_id: str, reason: str, now_ns: int) -> Iterable[Output]:
        """Without the Gate nothing new comes: end when the last motion is at rest."""
        if input_id.startswith("command"):
            self._gate_gone = reason
        return ()

    def _told(self, now_ns: int) -> RobotState:
        point = self.port.set_point(now_ns)
        width = self.settings.gripper_m if point.gripper_m is None else point.gripper_m
        self._count += 1
        return RobotState(
            position=point.position,
            velocity=point.velocity,
            commanded_position=point.position,
            commanded_velocity=point.velocity,
            commanded_acceleration=point.acceleration,
            gripper_width_m=width,
            gripper_target_m=width,
            gripper_force_n=0.0,
            world_from_tool=kinematics.forward(point.position),
            tool_speed_mps=0.0,
            at_rest=point.phase == "hold" and not point.velocity.any(),
            executing=point.executing,
            phase=point.phase,
            refused=self.port.refused_count,
            refusal=self.port.refusal,
            step=self._count,
        )


def _start(text: str) -> Vector:
    if not text:
        return np.array(panda.HOME)
    try:
        start = np.array(json.loads(text), np.float64)
    except (ValueError, TypeError) as error:
        raise SettingsError(f"START {text!r}: expected seven numbers as JSON") from error
    low, high = panda.LIMITS.position_low, panda.LIMITS.position_high
    if start.shape != (panda.N_JOINTS,) or not ((start >= low) & (start <= high)).all():
        raise SettingsError(f"START {text}: expected seven joint positions inside the limits")
    return start


NODE = DriverNode


def main() -> None:
    """Run under dora."""
    from interlock.nodes._dora import run

    run(NODE)


if __name__ == "__main__":
    main()
