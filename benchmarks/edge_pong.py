"""Receives what edge_ping.py sends, decodes it, and writes how long each message took."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from dora import Node

from interlock.messages import Stamp, decode


def main() -> None:
    """Take the time when the content of a message is usable: array or message in hand."""
    node = Node()
    taken: dict[str, list[int]] = {}
    for event in node:
        if event["type"] == "STOP":
            break
        if event["type"] != "INPUT" or event["id"] == "tick":
            continue
        name, metadata = event["id"], event["metadata"]
        if name.startswith("bare"):
            event["value"].to_numpy(zero_copy_only=True)
        else:
            decode(event["value"], metadata, where=name)
            Stamp.from_metadata(metadata, where=name)
        taken.setdefault(name, []).append(time.monotonic_ns() - metadata["began_ns"])
    Path(os.environ["RESULT"]).write_text(json.dumps(taken))


if __name__ == "__main__":
    main()
