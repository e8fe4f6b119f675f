"""The tracker as a dora Operator; `TARGETS` in its `env:` says what to look for."""

from __future__ import annotations

import os
import time
from typing import Any

from dora import DoraStatus  # type: ignore[attr-defined]

from interlock.operators.tracker_stream import TrackerStream


class Operator:
    """Finds coloured objects in the pictures of one camera (see tracking.py)."""

    def __init__(self) -> None:
        self._stream = TrackerStream(os.environ["TARGETS"])

    def on_event(self, event: dict[str, Any], send_output: Any) -> DoraStatus:
        """Handle one dora event."""
        if event["type"] == "INPUT":
            sent = self._stream.take(
                event["id"], event["value"], event["metadata"], time.monotonic_ns()
            )
            for output, payload, metadata in sent:
                send_output(output, payload, metadata)
        return DoraStatus.STOP if event["type"] == "STOP" else DoraStatus.CONTINUE
