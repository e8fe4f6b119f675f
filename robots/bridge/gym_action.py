"""Derive the action feature from a gymnasium space, and turn a row of numbers into an action."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.robots.bridge.faults import BridgeError, WireError

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ActionMap:
    """One flat row of float32 for any action space.

    Dict and Tuple spaces are laid end to end in their own order; Discrete spaces take one whole
    number each.
    """

    def __init__(self, space: Any) -> None:
        self._space = space
        low, high, names, self._whole = _describe(space, "")
        self.low, self.high = np.asarray(low, np.float64), np.asarray(high, np.float64)
        self.names = names
        self.width = len(names)
        #: A plain vector is the common case and worth a short cut.
        self._is_vector = type(space).__name__ == "Box" and space.dtype.kind == "f"

    def feature(self) -> dict[str, Any]:
        """Return the action feature of the contract."""
        feature: dict[str, Any] = {
            "role": "action",
            "dtype": "float32",
            "shape": [self.width],
            "names": list(self.names),
        }
        if self._whole:
            feature["type"] = "discrete"
        if np.isfinite(self.low).any() or np.isfinite(self.high).any():
            feature["limits"] = {"min": _bounds(self.low), "max": _bounds(self.high)}
        return feature

    def decode(self, row: NDArray[np.float32]) -> Any:
        """Return the action an environment takes.

        Args:
            row: Numbers of the action, shape (width,).

        Raises:
            WireError: If a discrete choice is not a whole number in range.
        """
        if self._is_vector:
            return row.reshape(self._space.shape).astype(self._space.dtype, copy=False)
        action, used = _element(self._space, row, 0)
        assert used == self.width
        return action

    def encode(self, action: Any) -> NDArray[np.float32]:
        """Return the row of an action, shape (width,); the reverse of `decode`."""
        return np.concatenate(_rows(self._space, action)).astype(np.float32)


def _rows(space: Any, action: Any) -> list[NDArray[Any]]:
    if type(space).__name__ in ("Dict", "Tuple"):
        return [row for key, sub in _parts(space) for row in _rows(sub, action[key])]
    return [np.asarray(action, np.float64).reshape(-1)]


def _bounds(values: NDArray[np.float64]) -> list[float | None]:
    return [float(v) if np.isfinite(v) else None for v in values]


def _describe(space: Any, stem: str) -> tuple[list[float], list[float], list[str], bool]:
    """Return lows, highs, names, and whether every number is a whole one."""
    kind = type(space).__name__
    if kind in ("Dict", "Tuple"):
        return _describe_parts(space, stem)
    stem = stem or "act"
    if kind == "Discrete":
        start = int(space.start)
        return [start], [start + int(space.n) - 1], [f"{stem}_0"], True
    if kind == "MultiDiscrete":
        lows = np.asarray(space.start).reshape(-1)
        highs = lows + np.asarray(space.nvec).reshape(-1) - 1
        return list(lows), list(highs), [f"{stem}_{i}" for i in range(highs.size)], True
    if kind == "MultiBinary":
        count = int(np.prod(space.shape))
        return [0] * count, [1] * count, [f"{stem}_{i}" for i in range(count)], True
    if kind == "Box":
        low, high = space.low.reshape(-1), space.high.reshape(-1)
        names = [f"{stem}_{i}" for i in range(low.size)]
        return list(low), list(high), names, bool(space.dtype.kind in "iu")
    raise BridgeError(f"an action space of type {kind} has no fixed width; wrap it first")


def _describe_parts(space: Any, stem: str) -> tuple[list[float], list[float], list[str], bool]:
    low: list[float] = []
    high: list[float] = []
    names: list[str] = []
    whole = True
    for key, sub in _parts(space):
        part = _describe(sub, f"{stem}_{key}" if stem else str(key))
        low, high, names = low + part[0], high + part[1], names + part[2]
        whole = whole and part[3]
    return low, high, names, whole


def _parts(space: Any) -> list[tuple[Any, Any]]:
    spaces = space.spaces
    return list(spaces.items()) if hasattr(spaces, "items") else list(enumerate(spaces))


def _element(space: Any, row: NDArray[np.float32], at: int) -> tuple[Any, int]:
    kind = type(space).__name__
    if kind in ("Dict", "Tuple"):
        made = {}
        for key, sub in _parts(space):
            made[key], at = _element(sub, row, at)
        return (made if kind == "Dict" else tuple(made.values())), at
    if kind == "Discrete":
        return _whole(row[at], at), at + 1
    count = int(np.prod(space.shape))
    piece = row[at : at + count]
    if space.dtype.kind in "iu":
        piece = np.array([_whole(v, at + i) for i, v in enumerate(piece)])
    return piece.reshape(space.shape).astype(space.dtype), at + count


def _whole(value: Any, at: int) -> int:
    number = float(value)
    if not number.is_integer():
        raise WireError("bad_action", f"actions[{at}]={number:g} must be a whole number")
    return int(number)
