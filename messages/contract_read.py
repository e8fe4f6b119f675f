"""Read single fields of a contract; each problem is one line that names its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.messages.errors import MessageError, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


class ContractError(MessageError):
    """A contract that breaks the schema.

    Attributes:
        problems: Every problem found, one line each.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(problems))


def check_keys(
    data: Mapping[str, Any], known: Sequence[str], *, where: str, problems: list[str]
) -> None:
    """Note every key that is not known, with the nearest one that is."""
    for key in data:
        if key not in known:
            problems.append(f"{where}: unknown key {key!r}; {nearest(str(key), known)}")


def read_symbol(
    data: Mapping[str, Any],
    key: str,
    known: Sequence[str],
    where: str,
    problems: list[str],
    *,
    required: bool = False,
) -> str | None:
    """Return a value from a closed set, or None when it is absent or wrong."""
    value = data.get(key)
    if value is None:
        if required:
            problems.append(f"{where}: key {key!r} is missing; one of {', '.join(known)}")
        return None
    if value not in known:
        problems.append(f"{where}: {key} {str(value)[:40]!r}; {nearest(str(value), known)}")
        return None
    return str(value)


def read_text(data: Mapping[str, Any], key: str, where: str, problems: list[str]) -> str | None:
    """Return text, or None when it is absent or wrong."""
    value = data.get(key)
    if value is not None and not isinstance(value, str):
        problems.append(f"{where}: {key} must be text, got {type(value).__name__}")
        return None
    return value


def read_rate(data: Mapping[str, Any], default: float, where: str, problems: list[str]) -> float:
    """Return the control rate in Hz."""
    value = data.get("control_rate", default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 10_000:
        problems.append(f"{where}: control_rate {str(value)[:40]} is not in (0, 10000] Hz")
        return default
    return float(value)


def read_shape(data: Mapping[str, Any], where: str, problems: list[str]) -> tuple[int, ...] | None:
    """Return a shape of one or more positive sizes, or None when it is absent or wrong."""
    value = data.get("shape")
    if value is None:
        return None
    good = isinstance(value, list) and 0 < len(value) <= 8
    if not good or any(type(size) is not int or size < 1 for size in value):
        problems.append(f"{where}: shape {str(value)[:40]} must hold 1 to 8 sizes of 1 or more")
        return None
    return tuple(value)


def read_names(
    data: Mapping[str, Any],
    shape: tuple[int, ...] | None,
    is_image: bool,
    where: str,
    problems: list[str],
) -> tuple[str, ...]:
    """Return one name per number; an image may name its axes instead."""
    value = data.get("names")
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        problems.append(f"{where}: names must be a list of text")
        return ()
    if is_image:
        return tuple(value)
    if len(set(value)) != len(value):
        twice = next(name for name in value if value.count(name) > 1)
        problems.append(f"{where}: name {twice!r} is given twice")
    if shape is not None and len(value) != int(np.prod(shape)):
        problems.append(f"{where}: {len(value)} names for shape {list(shape)}")
    return tuple(value)


def read_bounds(
    data: Mapping[str, Any], key: str, width: int | None, where: str, problems: list[str]
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Return the smallest and largest value per number; null entries are unbounded.

    ``stats`` in the field hold empty lists and null, which count as absent.
    """
    value = data.get(key)
    if value is None:
        return None, None
    known = ("min", "max") if key == "limits" else ("mean", "std", "min", "max")
    if not isinstance(value, dict):
        problems.append(f"{where}: {key} must be an object with {', '.join(known)}")
        return None, None
    check_keys(value, known, where=f"{where}: {key}", problems=problems)
    found = {k: _numbers(value.get(k), k, width, f"{where}: {key}", problems) for k in known}
    low, high = found["min"], found["max"]
    if low is not None and high is not None and low.shape == high.shape and (low > high).any():
        at = int(np.argmax(low > high))
        problems.append(f"{where}: {key}: min {low[at]:g} is above max {high[at]:g} at {at}")
    if key == "limits" and (low is None) != (high is None):
        problems.append(f"{where}: limits needs both min and max")
    return low, high


def _numbers(
    value: object, key: str, width: int | None, where: str, problems: list[str]
) -> NDArray[np.float64] | None:
    if value is None or value == []:
        return None
    items = value if isinstance(value, list) else [value] * (width or 1)
    sign = -np.inf if key == "min" else np.inf
    unbounded = [sign if item is None else item for item in items]
    try:
        array = np.asarray(unbounded, np.float64)
    except (TypeError, ValueError):
        problems.append(f"{where}: {key} must hold numbers")
        return None
    if np.isnan(array).any():
        problems.append(f"{where}: {key} holds NaN")
        return None
    if width is not None and array.size != width:
        problems.append(f"{where}: {key} holds {array.size} numbers, the feature {width}")
        return None
    return array.reshape(-1)


def read_order(data: Mapping[str, Any], width: int | None, where: str, problems: list[str]) -> None:
    """Check a slice label ``"first-last"``."""
    value = data.get("order")
    if value is None:
        return
    first, dash, last = value.partition("-") if isinstance(value, str) else ("", "", "")
    if not dash or not first.isdigit() or not last.isdigit() or int(first) > int(last):
        problems.append(f"{where}: order {str(value)[:40]!r} must look like '0-6'")
