"""Keep a message beyond its handler: a copy whose arrays are its own.

Decoded arrays are views of the received buffer, and holding such a buffer blocks the sender's pool.
"""

from __future__ import annotations

import dataclasses
from typing import TypeVar

import numpy as np

M = TypeVar("M")


def owned(message: M) -> M:
    """Return the message with every array copied."""
    fields = dataclasses.fields(message)  # type: ignore[arg-type]
    values = {f.name: getattr(message, f.name) for f in fields}
    copies = {k: v.copy() for k, v in values.items() if isinstance(v, np.ndarray)}
    return dataclasses.replace(message, **copies)  # type: ignore[type-var]
