"""Any LeRobot `Robot` behind the bridge; runs where LeRobot is installed, imports nothing of it.

RobotEndpoint(
"interlock.robots.bridge.lerobot_robot:LeRobotBridge",
{"robot": "my_arm.py:make_robot", "limits": {"shoulder_pan.pos": [-90, 90], ...}},
settings=BridgeSettings(pace="realtime"), python=Path("lerobot-env/bin/python"))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.robots.bridge.faults import BridgeError
from interlock.robots.bridge.gym_target import load
from interlock.robots.bridge.robot import RobotBridge

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray


class LeRobotBridge(RobotBridge):
    """Drives a LeRobot robot: named joints, absolute targets, cameras as RGB.

    Args:
        robot: A function that makes the robot, or where to find one: ``"file.py:make_robot"``.
        limits: Smallest and largest target of every joint, in the robot's own unit. All of them:
            LeRobot robots have no limits of their own.
        control_rate: Actions per second.
        robot_type: Name in the contract; None takes the robot's.
    """

    def __init__(
        self,
        robot: str | Callable[[], Any],
        limits: Mapping[str, tuple[float, float]],
        *,
        control_rate: float = 30.0,
        robot_type: str | None = None,
    ) -> None:
        self._robot = (load(robot) if isinstance(robot, str) else robot)()
        self._joints = [str(name) for name in self._robot.action_features]
        missing = [name for name in self._joints if name not in limits]
        if missing:
            raise BridgeError(f"limits are missing for {', '.join(missing)}; give all of them")
        self._limits = {name: limits[name] for name in self._joints}
        self._rate = control_rate
        self._type = robot_type or getattr(self._robot, "name", None)
        seen = self._robot.observation_features
        self._cameras = {n: tuple(kind) for n, kind in seen.items() if isinstance(kind, tuple)}
        self._state = [name for name, kind in seen.items() if not isinstance(kind, tuple)]
        self._robot.connect()

    def describe(self) -> Mapping[str, Any]:
        """Return the contract."""
        cameras = {
            f"observation/{name}": {
                "role": "observation",
                "type": "rgb",
                "dtype": "uint8",
                "shape": list(shape),
                "state_representation": "HWC",
            }
            for name, shape in self._cameras.items()
        }
        state = {
            "role": "observation",
            "dtype": "float32",
            "shape": [len(self._state)],
            "names": self._state,
        }
        action = {
            "role": "action",
            "dtype": "float32",
            "shape": [len(self._joints)],
            "names": self._joints,
            "type": "joint_pos",
            "state_type": "JOINT_ABS_POS",
            "limits": {
                "min": [float(self._limits[name][0]) for name in self._joints],
                "max": [float(self._limits[name][1]) for name in self._joints],
            },
        }
        return {
            "robot_type": self._type,
            "control_rate": self._rate,
            "features": {**cameras, "observation/state": state, "action": action},
        }

    def reset(self, **task: Any) -> str:
        """Return the ``task`` in words; a real robot stays where it is."""
        unknown = [name for name in task if name != "task"]
        if unknown:
            raise BridgeError(f"reset has no argument {unknown[0]!r}; known: task")
        return str(task.get("task", "do the task"))

    def step(self, action: NDArray[np.float32]) -> None:
        """Send one target per joint."""
        self._robot.send_action(
            {name: float(target) for name, target in zip(self._joints, action, strict=True)}
        )

    def get_observation(self) -> tuple[Mapping[str, Any], bool]:
        """Return cameras and joints; the episode ends when it is graded."""
        seen = self._robot.get_observation()
        images = {f"observation/{name}": np.asarray(seen[name]) for name in self._cameras}
        state = np.array([seen[name] for name in self._state], np.float32)
        return {**images, "observation/state": state}, False

    def close(self) -> None:
        """Disconnect; the robot decides what its motors do then."""
        self._robot.disconnect()
