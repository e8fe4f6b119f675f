"""Write a trace as an MCAP file: one JSON channel per output, pictures as Foxglove reads them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from interlock.messages import Image
from interlock.messages.codec import NAMES
from interlock.operators.trace.format import TraceError
from interlock.operators.trace.plain import fields_of, raw_image, stamp_of

if TYPE_CHECKING:
    from pathlib import Path

    from interlock.messages import Received
    from interlock.operators.trace.reader import Trace

#: Foxglove's own name for a picture, so that its image panel shows it.
RAW_IMAGE = "foxglove.RawImage"
IMAGE_SCHEMA = {
    "title": RAW_IMAGE,
    "type": "object",
    "properties": {
        "timestamp": {
            "type": "object",
            "title": "time",
            "properties": {"sec": {"type": "integer"}, "nsec": {"type": "integer"}},
        },
        "frame_id": {"type": "string"},
        "width": {"type": "integer"},
        "height": {"type": "integer"},
        "encoding": {"type": "string"},
        "step": {"type": "integer"},
        "data": {"type": "string", "contentEncoding": "base64"},
    },
}


def write_mcap(trace: Trace, path: Path) -> int:
    """Write every message of a trace; return how many.

    Raises:
        TraceError: If the library is missing or the file can't be written.
    """
    try:
        from mcap.writer import Writer
    except ImportError as error:
        raise TraceError("MCAP needs a library: pip install 'interlock[export]'") from error
    try:
        with path.open("wb") as file:
            writer = Writer(file)
            writer.start(profile="", library="interlock")
            count = _write(writer, trace)
            writer.finish()
    except OSError as error:
        raise TraceError(f"cannot write {path}: {error.strerror}. Choose another file.") from error
    return count


def _write(writer: Any, trace: Trace) -> int:
    schemas = {name: _register(writer, name) for name in NAMES}
    channels: dict[tuple[str, str, type], int] = {}
    writer.add_metadata("interlock", {k: str(v) for k, v in trace.meta.items()})
    count = 0
    for received in trace.messages():
        cls = type(received.message)
        if cls is Image and not received.message.pixels.size:
            continue  # left out by the trace: there is no picture to show
        key = (received.stamp.source, received.output, cls)
        if key not in channels:
            channels[key] = writer.register_channel(
                topic=f"/{key[0]}/{key[1]}",
                message_encoding="json",
                schema_id=schemas[cls.__name__],
            )
        writer.add_message(
            channel_id=channels[key],
            log_time=received.received_ns,
            publish_time=received.stamp.sent_ns,
            sequence=received.stamp.seq,
            data=json.dumps(_body(received)).encode(),
        )
        count += 1
    return count


def _register(writer: Any, name: str) -> int:
    schema = IMAGE_SCHEMA if name == "Image" else {"title": name, "type": "object"}
    shown = RAW_IMAGE if name == "Image" else f"interlock.{name}"
    schema_id: int = writer.register_schema(
        name=shown, encoding="jsonschema", data=json.dumps(schema).encode()
    )
    return schema_id


def _body(received: Received[Any]) -> dict[str, Any]:
    message = received.message
    if isinstance(message, Image):
        return raw_image(message, received.stamp.sent_ns)
    return {**fields_of(message), "stamp": stamp_of(received)}
