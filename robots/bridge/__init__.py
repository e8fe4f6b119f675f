"""Serve a simulator or a robot to outside agents over the openpi/0 websocket."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlock.robots.bridge.admission import Admission, ContractCheck, Judgement
from interlock.robots.bridge.endpoint import RobotEndpoint, gym
from interlock.robots.bridge.faults import BridgeError, BusyError
from interlock.robots.bridge.robot import RobotBridge
from interlock.robots.bridge.server import BridgeServer
from interlock.robots.bridge.settings import BridgeSettings

if TYPE_CHECKING:
    from interlock.robots.bridge.recorded_env import wrap

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
    "wrap",
]


def __getattr__(name: str) -> Any:
    """Import `wrap` when it is used: it records datasets, which a simulator process never does."""
    if name == "wrap":
        from interlock.robots.bridge.recorded_env import wrap

        return wrap
    raise AttributeError(name)
