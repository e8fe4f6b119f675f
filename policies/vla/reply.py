"""From what a server sent to a chunk of actions: one shape, native floats, finite, or refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.policies.vla.arrays import to_native
from interlock.policies.vla.errors import NotFiniteError, ReplyError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_ROWS = 10_000


def chunk(value: Any, *, field: str, single: bool = False) -> NDArray[np.floating[Any]]:
    """Return a chunk of shape (horizon, width).

    Args:
        value: An array or nested lists.
        field: Its name in the reply, for errors.
        single: Accept one action, shape (width,), as a chunk of one.

    Raises:
        ReplyError: It names the field and what was expected and got.
    """
    rows = to_native(value, field=field)
    if single and rows.ndim == 1:
        rows = rows[np.newaxis]
    if rows.ndim != 2 or 0 in rows.shape or len(rows) > _MOST_ROWS:
        raise ReplyError(
            f"field {field!r}: expected an array (horizon, width) with 1 to {_MOST_ROWS} rows, "
            f"got shape {list(rows.shape)}"
        )
    broken = np.argwhere(~np.isfinite(rows))
    if len(broken):
        row, column = broken[0]
        raise NotFiniteError(
            f"field {field!r}: row {row}, column {column} is {rows[row, column]}; "
            f"{len(broken)} of {rows.size} values are not finite"
        )
    return rows


def without_batch(value: Any, *, field: str) -> NDArray[np.floating[Any]]:
    """Return a chunk sent as a batch of one, shape (1, horizon, width), or without a batch."""
    rows = to_native(value, field=field)
    if rows.ndim == 3:
        if len(rows) != 1:
            raise ReplyError(f"field {field!r}: expected a batch of 1, got {len(rows)}")
        rows = rows[0]
    return chunk(rows, field=field)


def side_by_side(
    parts: Mapping[str, Any], keys: Sequence[str], *, batched: bool
) -> NDArray[np.floating[Any]]:
    """Return the parts of an action next to each other, in the order of ``keys``.

    Raises:
        ReplyError: A key is missing (it lists the keys there are), or lengths differ.
    """
    for key in keys:
        if key not in parts:
            raise ReplyError(f"field {key!r} is missing; the reply has {_listed(parts)}")
    read = without_batch if batched else chunk
    columns = [read(parts[key], field=key) for key in keys]
    if len({len(column) for column in columns}) != 1:
        lengths = ", ".join(f"{k}: {len(c)}" for k, c in zip(keys, columns, strict=True))
        raise ReplyError(f"the parts of the action differ in length ({lengths})")
    return np.concatenate(columns, axis=1)


def member(reply: Any, key: str) -> Any:
    """Return one field of a reply that must be a map.

    Raises:
        ReplyError: It is no map, or has no such field; it lists the fields there are.
    """
    if not isinstance(reply, Mapping):
        raise ReplyError(f"expected a map with {key!r}, got {type(reply).__name__}")
    if key in reply:
        return reply[key]
    if key.encode() in reply:
        return reply[key.encode()]
    raise ReplyError(f"field {key!r} is missing; the reply has {_listed(reply)}")


def timings(reply: Any, *names: str) -> dict[str, float]:
    """Return the finite numbers in the named maps of a reply, as ``map.key``; others are left."""
    found: dict[str, float] = {}
    for name in names:
        part = reply.get(name) if isinstance(reply, Mapping) else None
        for key, value in part.items() if isinstance(part, Mapping) else ():
            if isinstance(value, int | float) and np.isfinite(value):
                found[f"{name}.{key}"] = float(value)
    return found


def _listed(parts: Mapping[Any, Any]) -> str:
    names = sorted(str(k.decode() if isinstance(k, bytes) else k) for k in parts)
    return ", ".join(names[:20]) or "no fields"
