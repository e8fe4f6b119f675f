"""Write a trace as a Rerun recording: pictures, joint curves, object positions and the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlock.messages import Command, Event, Image, ObjectPoses, Result, RobotState, Verdict
from interlock.operators.trace.format import TraceError

if TYPE_CHECKING:
    from pathlib import Path

    from interlock.messages import Received
    from interlock.operators.trace.reader import Trace

TYPES = (Command, Event, Image, ObjectPoses, Result, RobotState, Verdict)


def write_rerun(trace: Trace, path: Path) -> int:
    """Write what Rerun can show; return how many messages that were.

    Raises:
        TraceError: If the library is missing.
    """
    try:
        import rerun as rr
    except ImportError as error:
        raise TraceError("Rerun needs its library: pip install 'rerun-sdk>=0.24'") from error
    if not path.parent.is_dir():
        raise TraceError(f"cannot write {path}: no folder {path.parent}. Choose another file.")
    stream = rr.RecordingStream("interlock", recording_id=str(trace.meta.get("run_id", "run")))
    stream.save(str(path))
    start_ns = trace.span_ns()[0]
    count = 0
    for received in trace.messages(types=TYPES):
        stream.set_time("run", duration=(received.stamp.sent_ns - start_ns) / 1e9)
        count += _log(rr, stream, received)
    stream.flush()
    return count


def _log(rr: Any, stream: Any, received: Received[Any]) -> int:
    message, name = received.message, f"{received.stamp.source}/{received.output}"
    if isinstance(message, Image):
        if not message.pixels.size:
            return 0
        stream.log(name, _picture(rr, message))
    elif isinstance(message, RobotState):
        stream.log(f"{name}/position", rr.Scalars(message.position))
        stream.log(f"{name}/commanded", rr.Scalars(message.commanded_position))
        stream.log(f"{name}/tool", rr.Points3D([message.world_from_tool[:3]]))
        stream.log(f"{name}/gripper_mm", rr.Scalars([message.gripper_width_m * 1000]))
    elif isinstance(message, ObjectPoses):
        points = message.world_from_object[:, :3]
        stream.log(name, rr.Points3D(points, labels=list(message.names)))
    else:
        text, level = _line(message)
        stream.log(name, rr.TextLog(text, level=level))
    return 1


def _picture(rr: Any, image: Image) -> Any:
    if image.encoding == "32FC1":
        return rr.DepthImage(image.pixels, meter=1.0)
    if image.encoding == "32SC1":
        return rr.SegmentationImage((image.pixels + 1).astype("uint16"))
    return rr.Image(image.pixels, color_model="BGR" if image.encoding == "bgr8" else None)


def _line(message: Any) -> tuple[str, str]:
    """Return a line for the log, and its level."""
    match message:
        case Event():
            levels = {"error": "ERROR", "warning": "WARN"}
            return message.text, levels.get(message.kind, "INFO")
        case Result():
            good = message.status == "succeeded"
            return f"{message.goal} {message.status} {message.reason}", "INFO" if good else "ERROR"
        case Verdict():
            text = message.sentence or f"command #{message.seq} admitted"
            return text, "DEBUG" if message.admitted else "WARN"
        case _:
            return f"{message.space} of task {message.task}", "DEBUG"
