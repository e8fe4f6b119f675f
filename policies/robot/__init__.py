"""The agent side of the robot bridge: connect, adapt, infer, batch, drive."""

from interlock.policies.robot.adapter import Adapter, LeRobotAdapter, OpenPIAdapter
from interlock.policies.robot.agent import RobotAgent, Rollout
from interlock.policies.robot.batched_agent import BatchedAgent
from interlock.policies.robot.batching import Batcher
from interlock.policies.robot.client import LinkSettings, Observation, RobotClient
from interlock.policies.robot.ensembler import Ensembler
from interlock.policies.robot.errors import (
    ModelError,
    RobotLinkError,
    RobotLostError,
    RobotRefusedError,
    RobotTimeoutError,
)
from interlock.policies.robot.lerobot import LeRobotModel
from interlock.policies.robot.model import FunctionModel, Model
from interlock.policies.robot.shared import Shared, run_trials

__all__ = [
    "Adapter",
    "BatchedAgent",
    "Batcher",
    "Ensembler",
    "FunctionModel",
    "LeRobotAdapter",
    "LeRobotModel",
    "LinkSettings",
    "Model",
    "ModelError",
    "Observation",
    "OpenPIAdapter",
    "RobotAgent",
    "RobotClient",
    "RobotLinkError",
    "RobotLostError",
    "RobotRefusedError",
    "RobotTimeoutError",
    "Rollout",
    "Shared",
    "run_trials",
]
