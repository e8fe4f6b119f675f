"""Serve a simulator or a robot to outside agents over the openpi/0 websocket."""

from interlock.robots.bridge.admission import Admission, ContractCheck, Judgement
from interlock.robots.bridge.endpoint import RobotEndpoint, gym
from interlock.robots.bridge.faults import BridgeError, BusyError
from interlock.robots.bridge.robot import RobotBridge
from interlock.robots.bridge.server import BridgeServer
from interlock.robots.bridge.settings import BridgeSettings

__all__ = [
    "Admission",
    "BridgeError",
    "BridgeServer",
    "BridgeSettings",
    "BusyError",
    "ContractCheck",
    "Judgement",
    "RobotBridge",
    "RobotEndpoint",
    "gym",
]
