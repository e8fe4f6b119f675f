"""A dora Operator that prints the latency of every edge it hears; `EVERY_S` in its `env:`."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from dora import DoraStatus  # type: ignore[attr-defined]

from interlock.operators.latency_stream import LatencyStream


class Operator:
    """Wire any outputs into it as ``<node>_<output>`` (see latency_stream.py)."""

    def __init__(self) -> None:
        self._stream = LatencyStream(float(os.environ.get("EVERY_S", "5")))

    def on_event(self, event: dict[str, Any], send_output: Any) -> DoraStatus:
        """Handle one dora event."""
        if event["type"] == "INPUT":
            table = self._stream.take(event["id"], event["metadata"], time.monotonic_ns())
            if table:
                sys.stdout.write(table + "\n")
                sys.stdout.flush()
        return DoraStatus.STOP if event["type"] == "STOP" else DoraStatus.CONTINUE
