"""How a field of a message is declared, so that one codec serves every message type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Column:
    """An array field: its element type and number of dimensions (1 or 2)."""

    dtype: Literal["float64", "int64"]
    ndim: Literal[1, 2]


#: Shape (n,), float64.
Vector = Annotated[NDArray[np.float64], Column("float64", 1)]
#: Shape (rows, columns), float64.
Matrix = Annotated[NDArray[np.float64], Column("float64", 2)]
#: Shape (n,), int64.
Integers = Annotated[NDArray[np.int64], Column("int64", 1)]

NUMPY_TYPES = {"float64": np.dtype(np.float64), "int64": np.dtype(np.int64)}


def empty() -> NDArray[np.float64]:
    """Return a float64 array of shape (0,)."""
    return np.zeros(0)


def empty_matrix() -> NDArray[np.float64]:
    """Return a float64 array of shape (0, 0)."""
    return np.zeros((0, 0))
