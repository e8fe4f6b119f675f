"""The tracker as a dora Operator: finds coloured objects in pictures (see tracking.py).

`TARGETS` in its `env:` is JSON: a list of `{name, rgb, radius_m, half_height_m, round}`.
"""

from __future__ import annotations

import json
import os
import time
from typing import Any

from dora import DoraStatus  # type: ignore[attr-defined]

from interlock.messages import Output, Received, Stamp, decode, encode, owned
from interlock.operators.object_memory import ObjectMemory
from interlock.operators.tracking import Target, find


class Operator:
    """Keeps the newest picture; looks when its depth arrives."""

    def __init__(self) -> None:
        self._targets = [Target(**item) for item in json.loads(os.environ["TARGETS"])]
        self._memory = ObjectMemory()
        self._image: Received[Any] | None = None
        self._seq = 0

    def on_event(self, event: dict[str, Any], send_output: Any) -> DoraStatus:
        """Handle one dora event."""
        if event["type"] == "INPUT" and event["id"] in ("image", "depth"):
            where, metadata = f"camera/{event['id']}", event["metadata"]
            stamp = Stamp.from_metadata(metadata, where=where)
            message = owned(decode(event["value"], metadata, where=where))
            now_ns = time.monotonic_ns()
            received = Received(
                message=message, stamp=stamp, output=event["id"], received_ns=now_ns
            )
            if event["id"] == "image":
                self._image = received
            else:
                self._look(received, send_output)
        return DoraStatus.STOP if event["type"] == "STOP" else DoraStatus.CONTINUE

    def _look(self, depth: Received[Any], send_output: Any) -> None:
        image, observed_ns = self._image, depth.stamp.observed_ns
        if image is None or image.stamp.observed_ns != observed_ns:
            return
        for seen in find(image.message, depth.message, self._targets):
            self._memory.see(seen.name, seen.world_from_object, seen.confidence, observed_ns)
        message = self._memory.message()
        if message is None:
            return
        out = Output(
            output="objects",
            message=message,
            basis=(image.basis, depth.basis),
            observed_ns=observed_ns,
        )
        stamp = out.stamp(
            source=os.environ.get("NODE_ID", "tracker"), seq=self._seq, now_ns=time.monotonic_ns()
        )
        self._seq += 1
        payload, metadata = encode(message)
        send_output("objects", payload, metadata | stamp.to_metadata())
