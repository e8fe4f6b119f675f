"""Tracking as an operation on dora messages: Arrow and metadata in, Arrow and metadata out."""

from __future__ import annotations

import json
from typing import Any

from interlock.messages import Output, Received, SettingsError, Stamp, decode, encode, owned
from interlock.operators.object_memory import ObjectMemory
from interlock.operators.tracking import Target, find

#: What an operator sends: output id, payload, metadata.
Sent = tuple[str, Any, dict[str, Any]]


class TrackerStream:
    """Keeps the newest picture and looks for the targets when its depth arrives.

    Args:
        targets: JSON text: a list of ``{name, rgb, radius_m, half_height_m, round}``.

    Raises:
        SettingsError: If the text is no such list.
    """

    def __init__(self, targets: str) -> None:
        try:
            items = json.loads(targets)
            if not isinstance(items, list):
                raise TypeError(f"got {type(items).__name__}")
            self._targets = [Target(**item) for item in items]
        except (ValueError, TypeError) as error:
            raise SettingsError(f"TARGETS: expected a JSON list of targets: {error}") from error
        self._memory = ObjectMemory()
        self._image: Received[Any] | None = None
        self._seq = 0

    def take(
        self, input_id: str, payload: Any, metadata: dict[str, Any], now_ns: int
    ) -> list[Sent]:
        """Take in a message of input ``image`` or ``depth``; return what to send.

        Raises:
            MessageError: If the message is malformed.
        """
        if input_id not in ("image", "depth"):
            return []
        where = f"camera/{input_id}"
        received = Received(
            message=owned(decode(payload, metadata, where=where)),
            stamp=Stamp.from_metadata(metadata, where=where),
            output=input_id,
            received_ns=now_ns,
        )
        if input_id == "image":
            self._image = received
            return []
        return self._look(received, now_ns)

    def _look(self, depth: Received[Any], now_ns: int) -> list[Sent]:
        image, observed_ns = self._image, depth.stamp.observed_ns
        if image is None or image.stamp.observed_ns != observed_ns:
            return []
        for seen in find(image.message, depth.message, self._targets):
            self._memory.see(seen.name, seen.world_from_object, seen.confidence, observed_ns)
        message = self._memory.message()
        if message is None:
            return []
        basis = (image.basis, depth.basis)
        out = Output(output="objects", message=message, basis=basis, observed_ns=observed_ns)
        stamp = out.stamp(source="tracker", seq=self._seq, now_ns=now_ns)
        self._seq += 1
        payload, metadata = encode(message)
        return [("objects", payload, metadata | stamp.to_metadata())]
