"""Pictures, in dora's own convention: a flat array; encoding, width and height in metadata."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.messages.columns import empty

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Encoding -> (dtype, channels). rgb8, bgr8 and mono8 are dora-hub's names; 32FC1 is depth in m
#: and 32SC1 is segmentation (geom id, -1 for none), as ROS names them.
ENCODINGS: dict[str, tuple[np.dtype[Any], int]] = {
    "rgb8": (np.dtype(np.uint8), 3),
    "bgr8": (np.dtype(np.uint8), 3),
    "mono8": (np.dtype(np.uint8), 1),
    "mono16": (np.dtype(np.uint16), 1),
    "32FC1": (np.dtype(np.float32), 1),
    "32SC1": (np.dtype(np.int32), 1),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Image:
    """One picture of one camera.

    Attributes:
        pixels: Shape (height, width, 3) for colour, (height, width) otherwise; read-only view of
            the received buffer: copy what you keep.
        encoding: A key of ``ENCODINGS``.
        camera: Name of the camera.
        fovy_deg: Vertical field of view, in degrees; 0 when unknown.
        world_from_camera: Pose of the camera, shape (7,): m, quaternion w, x, y, z; it looks along
            its -z with +y up; shape (0,) when unknown.
    """

    pixels: NDArray[Any]
    encoding: str = "rgb8"
    camera: str = ""
    fovy_deg: float = 0.0
    world_from_camera: NDArray[np.float64] = field(default_factory=empty)
