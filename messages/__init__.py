"""The vocabulary of the graph: stamps, message types, their Arrow form, and errors.

Names are imported when they are first used: a command that needs no Arrow starts without it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interlock.messages.codec import decode, encode
    from interlock.messages.command import AdmittedCommand, Command, Verdict
    from interlock.messages.errors import (
        InterlockError,
        MessageError,
        SettingsError,
        StaleDataError,
        nearest,
    )
    from interlock.messages.image import Image
    from interlock.messages.own import owned
    from interlock.messages.received import Output, Received
    from interlock.messages.robot import ObjectPoses, RobotState, WorldValue
    from interlock.messages.stamp import Basis, Stamp
    from interlock.messages.task import (
        Cancel,
        Event,
        Feedback,
        GateStatus,
        Goal,
        Grant,
        Heartbeat,
        Reset,
        Result,
        Stop,
        TaskRequest,
    )

__all__ = [
    "AdmittedCommand",
    "Basis",
    "Cancel",
    "Command",
    "Event",
    "Feedback",
    "GateStatus",
    "Goal",
    "Grant",
    "Heartbeat",
    "Image",
    "InterlockError",
    "MessageError",
    "ObjectPoses",
    "Output",
    "Received",
    "Reset",
    "Result",
    "RobotState",
    "SettingsError",
    "StaleDataError",
    "Stamp",
    "Stop",
    "TaskRequest",
    "Verdict",
    "WorldValue",
    "decode",
    "encode",
    "nearest",
    "owned",
]

#: Public name -> module of this package that it is in.
_MODULES = {
    "AdmittedCommand": "command",
    "Basis": "stamp",
    "Cancel": "task",
    "Command": "command",
    "Event": "task",
    "Feedback": "task",
    "GateStatus": "task",
    "Goal": "task",
    "Grant": "task",
    "Heartbeat": "task",
    "Image": "image",
    "InterlockError": "errors",
    "MessageError": "errors",
    "ObjectPoses": "robot",
    "Output": "received",
    "Received": "received",
    "Reset": "task",
    "Result": "task",
    "RobotState": "robot",
    "SettingsError": "errors",
    "StaleDataError": "errors",
    "Stamp": "stamp",
    "Stop": "task",
    "TaskRequest": "task",
    "Verdict": "command",
    "WorldValue": "robot",
    "decode": "codec",
    "encode": "codec",
    "nearest": "errors",
    "owned": "own",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value
