"""Between our driver and dora's ROS 2 bridge node: set-points out, joint states in. Plain dora.

Inputs:   set_point (RobotState, from the driver), joint_states (sensor_msgs/JointState), tick.
Outputs:  state (RobotState), joint_command (std_msgs/Float64MultiArray).

Untried with a ROS 2 installation; what it computes is in `_ros2.py` and tested.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from interlock.messages import MessageError, Stamp, decode, encode, owned
from interlock.nodes._environment import own_id, prepare
from interlock.nodes._ros2 import Hold, Measured, joined, joint_command, read_joint_state

if TYPE_CHECKING:
    from interlock.messages import RobotState

#: Two waits of this length without any event mean that the daemon is gone.
_SILENCE_S = 0.75


class Joints:
    """One arm.

    Args:
        node: The dora node.
        source: Its id.
    """

    def __init__(self, node: Any, source: str) -> None:
        env = os.environ.get
        prefix = env("JOINT_PREFIX", "panda_")
        self._node, self._source = node, source
        self._joints = [f"{prefix}joint{i}" for i in range(1, 8)]
        self._fingers = [f"{prefix}finger_joint{i}" for i in (1, 2)]
        self._hold = Hold(float(env("MAX_APART_RAD", "0.1")))
        self._told: RobotState | None = None
        self._measured: Measured | None = None
        self._said = ""
        self._seq = 0

    def on_set_point(self, event: dict[str, Any]) -> None:
        """Pass a set-point on, if the arm is where it should be."""
        told: RobotState = owned(decode(event["value"], event["metadata"], where="driver"))
        self._told = told
        why_not = self._hold.why_not(told.commanded_position, self._measured)
        if not why_not:
            self._node.send_output("joint_command", joint_command(told.commanded_position), {})
        elif why_not != self._said:
            self._node.log("warn", f"no set-points go to the arm: {why_not}")
        self._said = why_not

    def on_joint_states(self, event: dict[str, Any]) -> None:
        """Send the state of the arm."""
        now_ns = time.monotonic_ns()
        found = read_joint_state(event["value"], joints=self._joints, fingers=self._fingers)
        if found is None:
            return
        self._measured = found
        if self._told is None or self._hold.why_not(self._told.commanded_position, found):
            # Without a state the Gate admits nothing: what it believes is not where the arm is.
            return
        payload, metadata = encode(joined(self._told, found))
        stamp = Stamp(source=self._source, seq=self._seq, observed_ns=now_ns, sent_ns=now_ns)
        self._seq += 1
        self._node.send_output("state", payload, {**metadata, **stamp.to_metadata()})


def main() -> None:
    """Serve until dora says stop or falls silent."""
    from dora import Node

    prepare(-10)
    node = Node()
    joints = Joints(node, own_id(os.environ))
    handlers = {"set_point": joints.on_set_point, "joint_states": joints.on_joint_states}
    silences = 0
    while silences < 2:
        event = node.next(timeout=_SILENCE_S)
        if event is None or event["type"] == "STOP":
            return
        silences = silences + 1 if event["type"] == "ERROR" else 0
        if event["type"] == "INPUT" and event["id"] in handlers:
            try:
                handlers[event["id"]](event)
            except MessageError as error:
                node.log("warn", str(error))


if __name__ == "__main__":
    main()
