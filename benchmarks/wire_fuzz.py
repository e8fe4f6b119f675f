"""Mutate frames: flip, cut, insert, repeat, swap; the mutations of any fuzzer, seeded."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def mutated(rng: np.random.Generator, frame: bytes) -> bytes:
    """Return a frame with 1 to 4 mutations, never empty."""
    data = bytearray(frame)
    for _ in range(int(rng.integers(1, 5))):
        _mutate(rng, data)
    return bytes(data) or b"\x00"


def _mutate(rng: np.random.Generator, data: bytearray) -> None:
    at = int(rng.integers(0, len(data) + 1))
    kind = int(rng.integers(0, 6))
    if kind == 0 and at < len(data):
        data[at] ^= 1 << int(rng.integers(0, 8))
    elif kind == 1 and at < len(data):
        data[at] = int(rng.choice([0x00, 0x7F, 0x80, 0x90, 0xC0, 0xC1, 0xDD, 0xDF, 0xFF]))
    elif kind == 2:
        del data[at:]
    elif kind == 3:
        data[at:at] = rng.bytes(int(rng.integers(1, 9)))
    elif kind == 4:
        data[at:at] = data[at : at + int(rng.integers(1, 17))]
    else:
        del data[at : at + int(rng.integers(1, 9))]
