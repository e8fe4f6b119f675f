"""Errors about messages and settings. Each says what was wrong, where, and the way out."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class InterlockError(Exception):
    """Base of every error that is shown to a person as one line, without a traceback."""


class MessageError(InterlockError, ValueError):
    """A message that breaks the contract of its edge."""


class StaleDataError(MessageError):
    """A value older than its reader allows.

    Args:
        key: Name of the value, e.g. ``"cup_red"``.
        age_ns: Age of the value when it was read, in ns; None if it was never received.
        limit_ns: Largest age the reader accepts, in ns.
        source: Node that produced the value, or should have.
    """

    def __init__(self, key: str, *, age_ns: int | None, limit_ns: int, source: str) -> None:
        age = "was never received" if age_ns is None else f"is {age_ns / 1e6:.0f} ms old"
        super().__init__(
            f"{key!r} from {source!r} {age}; the reader allows {limit_ns / 1e6:.0f} ms. "
            f"Check that {source!r} still sends it, or allow a larger age."
        )
        self.key = key
        self.age_ns = age_ns
        self.limit_ns = limit_ns
        self.source = source


class SettingsError(InterlockError, ValueError):
    """A setting (YAML, environment variable or option) that is not acceptable."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ``did you mean 'x'?`` for a misspelt name, else the list of known names."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(names) or 'none'}"
