"""What can go wrong with a served policy. Each error is one line: what, where, and the way out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from interlock.messages.errors import InterlockError

if TYPE_CHECKING:
    from collections.abc import Iterable


class PolicyError(InterlockError):
    """Base of everything a policy server or its configuration can do wrong."""


class PolicyConnectionError(PolicyError):
    """The server can't be reached, or the connection was lost."""


class PolicyTimeoutError(PolicyError):
    """The server did not answer within the budget; the connection was dropped."""


class PolicyServerError(PolicyError):
    """The server itself reported an error.

    Attributes:
        detail: What the server sent, whole (it may hold its traceback); for logs only.
    """

    def __init__(self, message: str, *, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail


class ReplyError(PolicyError, ValueError):
    """A reply that can't be used: wrong encoding, dtype, shape, size or not finite."""


class NotFiniteError(ReplyError):
    """A reply with NaN or infinity in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """One thing on which policy and robot disagree, by name."""

    name: str
    expected: str
    got: str

    def __str__(self) -> str:
        return f"{self.name}: expected {self.expected}, got {self.got}"


class SetupError(PolicyError, ValueError):
    """Policy and robot do not fit: an invalid set-up, found before any motion, never scored."""

    def __init__(self, preset: str, mismatches: Iterable[Mismatch]) -> None:
        self.mismatches = tuple(mismatches)
        listed = "; ".join(str(m) for m in self.mismatches)
        super().__init__(
            f"invalid set-up, 0 steps: policy {preset!r} does not fit. {listed}. "
            "Change the preset with --policy-config, or use another policy."
        )


def one_line(text: str, limit: int = 200) -> str:
    """Return the last line of a server's text that is not empty, cut to ``limit`` characters.

    The last line of a traceback names the error; the lines before it name the server's files.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    last = lines[-1] if lines else "(no text)"
    return last if len(last) <= limit else last[: limit - 1] + "…"
