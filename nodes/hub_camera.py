"""A camera in the style of dora-hub: plain dora, no stamps of ours, a moving test picture.

Outputs: image (flat uint8; encoding, width, height in the metadata).
"""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa


def picture(count: int, width: int, height: int) -> np.ndarray:
    """Return an RGB gradient with a bar that moves, shape (height, width, 3)."""
    rgb = np.zeros((height, width, 3), np.uint8)
    rgb[..., 0] = np.linspace(0, 255, width, dtype=np.uint8)
    rgb[..., 1] = np.linspace(0, 255, height, dtype=np.uint8)[:, None]
    at = 4 * count % width
    rgb[:, at : at + 8] = 255
    return rgb


def main() -> None:
    """Send a picture per tick until dora says stop."""
    from dora import Node

    width = int(os.environ.get("IMAGE_WIDTH", "320"))
    height = int(os.environ.get("IMAGE_HEIGHT", "240"))
    node, count = Node(), 0
    for event in node:
        if event["type"] == "INPUT" and event["id"] == "tick":
            pixels = pa.array(picture(count, width, height).reshape(-1))
            node.send_output(
                "image", pixels, {"encoding": "rgb8", "width": width, "height": height}
            )
            count += 1
        elif event["type"] == "STOP":
            break


if __name__ == "__main__":
    main()
