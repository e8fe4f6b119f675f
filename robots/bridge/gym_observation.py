"""Derive observation features from gymnasium spaces, and turn observations into them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.messages.contract_schema import RESERVED_KEYS
from interlock.robots.bridge.faults import BridgeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

_CHANNELS = (1, 3, 4)
_SMALLEST_IMAGE = 16
#: Dtypes that contract v0 does not have, and what they are sent as.
_SENT_AS = {
    "bool": "uint8",
    "int8": "int32",
    "int16": "int32",
    "uint32": "int64",
    "uint64": "int64",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """One array of an observation.

    Attributes:
        key: Key on the wire.
        path: Keys and indices that lead to it in the environment's observation.
        feature: Its feature in the contract.
        dtype: Dtype it is sent with; None for text.
    """

    key: str
    path: tuple[Any, ...]
    feature: Mapping[str, Any]
    dtype: np.dtype[Any] | None


class ObservationMap:
    """Every array of an observation space by its key on the wire, cameras first."""

    def __init__(self, space: Any) -> None:
        found = [_leaf(path, sub) for path, sub in _walk(space, ())]
        found = _rename(found)
        _name_vectors(found)
        # Agents take the first feature that is no camera for the state, so text comes last.
        found.sort(key=lambda leaf: (leaf.dtype is None, "type" not in leaf.feature))
        self.leaves = tuple(found)

    def features(self) -> dict[str, Any]:
        """Return the observation features of the contract."""
        return {leaf.key: dict(leaf.feature) for leaf in self.leaves}

    def encode(self, observation: Any) -> dict[str, Any]:
        """Return one observation as the wire carries it."""
        return {leaf.key: _sent(leaf, _at(observation, leaf.path)) for leaf in self.leaves}


def space_of(observation: Any) -> Any:
    """Return a space that an observation would belong to, for environments that declare none."""
    import gymnasium

    if isinstance(observation, dict):
        parts = {key: space_of(value) for key, value in observation.items()}
        return gymnasium.spaces.Dict(parts)
    if isinstance(observation, str):
        return gymnasium.spaces.Text(max_length=max(1, len(observation)))
    array = np.asarray(observation)
    if array.dtype.kind not in "biuf":
        raise BridgeError(f"an observation holds {array.dtype}; wrap the environment first")
    if array.dtype.kind == "b":
        return gymnasium.spaces.MultiBinary(array.shape)
    is_float = array.dtype.kind == "f"
    low, high = (-np.inf, np.inf) if is_float else _range(array.dtype)
    return gymnasium.spaces.Box(low, high, array.shape, array.dtype)


def first_row(observation: Any) -> Any:
    """Return the first row of every array of a batched observation."""
    if isinstance(observation, dict):
        return {key: first_row(value) for key, value in observation.items()}
    return observation if isinstance(observation, str) else np.asarray(observation)[0]


def _range(dtype: np.dtype[Any]) -> tuple[int, int]:
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def _walk(space: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    spaces: Any = getattr(space, "spaces", None)
    if hasattr(spaces, "items"):
        for key, sub in spaces.items():
            yield from _walk(sub, (*path, key))
    elif isinstance(spaces, list | tuple):
        for index, sub in enumerate(spaces):
            yield from _walk(sub, (*path, index))
    else:
        yield path, space


def _leaf(path: tuple[Any, ...], space: Any) -> Leaf:
    key = "/".join(str(part) for part in path) or "obs"
    kind = type(space).__name__
    if kind == "Text":
        text = {"role": "observation", "type": "language", "dtype": "string"}
        return Leaf(key=key, path=path, feature=text, dtype=None)
    shape, dtype = getattr(space, "shape", None), getattr(space, "dtype", None)
    if shape is None or dtype is None:
        raise BridgeError(f"observation {key!r}: a {kind} space has no fixed shape; wrap it first")
    sent = np.dtype(_SENT_AS.get(np.dtype(dtype).name, np.dtype(dtype).name))
    feature = {
        "role": "observation",
        "dtype": sent.name,
        "shape": list(shape) or [1],
        **_image(key, tuple(shape), sent),
    }
    return Leaf(key=key, path=path, feature=feature, dtype=sent)


def _image(key: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> dict[str, Any]:
    """Return type and layout if an array looks like a camera's, else nothing."""
    depth = "depth" in key.lower() or dtype.kind == "f" or dtype == np.uint16
    if len(shape) == 2:
        if min(shape) < _SMALLEST_IMAGE or not (dtype == np.uint8 or depth):
            return {}
        return {"type": "depth" if depth else "gray"}
    if len(shape) != 3 or not (dtype in (np.uint8, np.uint16) or dtype.kind == "f"):
        return {}
    last, first = shape[-1] in _CHANNELS, shape[0] in _CHANNELS
    if not last and not first:
        return {}
    channels = shape[-1] if last else shape[0]
    if channels == 1:
        kind = "depth" if depth else "gray"
    else:
        kind = "bgr" if "bgr" in key.lower() else "rgb"
    return {"type": kind, "state_representation": "HWC" if last else "CHW"}


def _rename(leaves: list[Leaf]) -> list[Leaf]:
    """Give every leaf a key of its own that the wire does not use itself."""
    taken: set[str] = set()
    renamed = []
    for leaf in leaves:
        key = f"observation/{leaf.key}" if leaf.key in (*RESERVED_KEYS, "action") else leaf.key
        count = 2
        while key in taken:
            key, count = f"{leaf.key}_{count}", count + 1
        taken.add(key)
        renamed.append(Leaf(key=key, path=leaf.path, feature=leaf.feature, dtype=leaf.dtype))
    return renamed


def _name_vectors(leaves: list[Leaf]) -> None:
    """Name the numbers of each vector after its last key, or its whole key where two share one."""
    vectors = [leaf for leaf in leaves if "type" not in leaf.feature]
    short = [leaf.key.rsplit("/", 1)[-1] for leaf in vectors]
    for leaf, name in zip(vectors, short, strict=True):
        stem = name if short.count(name) == 1 else leaf.key.replace("/", "_")
        width = int(np.prod(leaf.feature["shape"]))
        assert isinstance(leaf.feature, dict)
        leaf.feature["names"] = [f"{stem}_{i}" for i in range(width)]


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for part in path:
        value = value[part]
    return value


def _sent(leaf: Leaf, value: Any) -> Any:
    if leaf.dtype is None:
        return str(value)
    array: NDArray[Any] = np.asarray(value)
    if array.ndim == 0:
        array = array.reshape(1)
    return array if array.dtype == leaf.dtype else array.astype(leaf.dtype)
