"""Sends the same content bare and as one of our messages, in turn; see edges.py."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np
import pyarrow as pa
from dora import Node

from interlock.messages import Basis, Command, Image, Output, encode

BASIS = tuple(
    Basis(source="simulator", output="state", seq=n, observed_ns=1, received_ns=2) for n in range(2)
)


def main() -> None:
    """Send COUNT messages of each kind and size at RATE_HZ, then end."""
    count, period_s = int(os.environ["COUNT"]), 1 / float(os.environ["RATE_HZ"])
    node = Node()
    random = np.random.default_rng(1)
    pixels = random.integers(0, 255, (224, 224, 3), dtype=np.uint8)
    targets = random.random((18, 7))
    time.sleep(0.5)
    due = time.monotonic()
    for seq in range(count):
        for kind in ("bare_small", "stamped_small", "bare_image", "stamped_image"):
            due += period_s
            time.sleep(max(0.0, due - time.monotonic()))
            small = kind.endswith("small")
            content = targets if small else pixels
            began_ns = time.monotonic_ns()
            if kind.startswith("bare"):
                node.send_output(kind, pa.array(content.reshape(-1)), {"began_ns": began_ns})
                continue
            message: Any = Image(pixels=pixels)
            if small:
                message = Command(task="t", space="joint", targets=targets)
            out = Output(output=kind, message=message, basis=BASIS)
            payload, metadata = encode(message)
            stamp = out.stamp(source="ping", seq=seq, now_ns=began_ns)
            node.send_output(kind, payload, metadata | stamp.to_metadata() | {"began_ns": began_ns})
    time.sleep(0.3)


if __name__ == "__main__":
    main()
