"""The vocabulary of the graph: stamps, message types, their Arrow form, and errors."""

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
