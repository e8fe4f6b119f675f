"""The Gate: decides every command; the only way to the driver."""

from interlock.gate.admission import Run
from interlock.gate.config import GateConfig, parse_config, read_config
from interlock.gate.core import Gate, Reply
from interlock.gate.driver_port import DriverPort, SetPoint

__all__ = [
    "DriverPort",
    "Gate",
    "GateConfig",
    "Reply",
    "Run",
    "SetPoint",
    "parse_config",
    "read_config",
]
