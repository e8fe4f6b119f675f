import asyncio
import os
from pathlib import Path

import numpy as np
import pytest

from interlock.policies.robot import FunctionModel, RobotAgent
from interlock.robots.bridge import BridgeError, BridgeSettings, RobotEndpoint
from interlock.robots.bridge.lerobot_robot import LeRobotBridge

LEROBOT = Path(os.environ.get("INTERLOCK_LEROBOT_PYTHON", "(unset)"))
JOINTS = ("shoulder_pan.pos", "gripper.pos")
LIMITS = {"shoulder_pan.pos": (-90.0, 90.0), "gripper.pos": (0.0, 100.0)}
SIMULATED = """
import numpy as np
from lerobot.robots import Robot, RobotConfig

class Small(Robot):
    config_class, name = RobotConfig, "small"
    observation_features = {"shoulder_pan.pos": float, "gripper.pos": float, "top": (32, 32, 3)}
    action_features = {"shoulder_pan.pos": float, "gripper.pos": float}
    is_connected = is_calibrated = True
    def __init__(self):
        self.at = {"shoulder_pan.pos": 0.0, "gripper.pos": 0.0}
    def connect(self, calibrate=True): pass
    def calibrate(self): pass
    def configure(self): pass
    def disconnect(self): pass
    def __del__(self): pass
    def get_observation(self):
        return {**self.at, "top": np.zeros((32, 32, 3), np.uint8)}
    def send_action(self, action):
        self.at = dict(action)
        return action

def make():
    return Small()
"""


class Simulated:
    """What LeRobot's robots look like: features, connect, observe, send."""

    name = "so101"
    action_features = dict.fromkeys(JOINTS, float)

    def __init__(self) -> None:
        self.observation_features = {**dict.fromkeys(JOINTS, float), "top": (32, 48, 3)}
        self.at = dict.fromkeys(JOINTS, 0.0)
        self.connected = False

    def connect(self) -> None:
        self.connected = True

    def disconnect(self) -> None:
        self.connected = False

    def get_observation(self) -> dict:
        return {**self.at, "top": np.zeros((32, 48, 3), np.uint8)}

    def send_action(self, action: dict) -> dict:
        self.at = dict(action)
        return action


def test_joints_and_cameras_become_a_contract(serve) -> None:
    served = serve(LeRobotBridge(Simulated, LIMITS))
    contract = served.server.sims.contract
    assert contract.robot_type == "so101"
    assert contract.action.names == JOINTS
    assert contract.action.is_absolute is True
    assert contract.cameras["observation/top"].shape == (32, 48, 3)


def test_targets_reach_the_joints_by_name_and_limits_hold(serve) -> None:
    robot = Simulated()
    client = serve(LeRobotBridge(lambda: robot, LIMITS)).driven(task="wave")
    assert client.act(30.0, 50.0)["observation/state"].tolist() == [30, 50]
    refused = client.act(120.0, 50.0)
    assert refused["meta"]["verdict"]["message"] == "shoulder_pan.pos=120 is outside [-90, 90]"
    assert robot.at == {"shoulder_pan.pos": 30.0, "gripper.pos": 50.0}


def test_a_refused_first_target_moves_nothing(serve) -> None:
    robot = Simulated()
    robot.at = {"shoulder_pan.pos": 40.0, "gripper.pos": 10.0}
    client = serve(LeRobotBridge(lambda: robot, LIMITS)).driven()
    assert client.act(500.0, 0.0)["observation/state"].tolist() == [40, 10]


def test_a_joint_without_limits_is_refused() -> None:
    with pytest.raises(BridgeError, match=r"limits are missing for gripper\.pos"):
        LeRobotBridge(Simulated, {"shoulder_pan.pos": (-90, 90)})


def test_the_robot_is_let_go_at_the_end(serve) -> None:
    robot = Simulated()
    served = serve(LeRobotBridge(lambda: robot, LIMITS))
    assert robot.connected
    served.stop()
    assert not robot.connected


@pytest.mark.skipif(
    not LEROBOT.exists(), reason="set INTERLOCK_LEROBOT_PYTHON to a python with lerobot>=0.4"
)
def test_a_robot_of_stock_lerobot_is_driven_in_its_own_interpreter(tmp_path: Path) -> None:
    (tmp_path / "small.py").write_text(SIMULATED)
    place = "interlock.robots.bridge.lerobot_robot:LeRobotBridge"
    init = {"robot": f"{tmp_path / 'small.py'}:make", "limits": LIMITS, "control_rate": 100}
    settings = BridgeSettings(pace="realtime")
    agent = RobotAgent(FunctionModel(lambda seen: [10.0, 20.0]), max_steps=5)
    with RobotEndpoint(place, init, settings=settings, python=LEROBOT) as robot:
        token = robot.reset(task="wave")["token"]
        rollout = asyncio.run(agent.run(robot.url, robot.contract(), token=token))
    assert rollout.steps == 5
