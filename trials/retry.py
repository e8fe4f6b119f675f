"""How long to wait before a call is tried again: the server's word first, with jitter and a cap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

BUSY = frozenset({408, 429, 503, 529})


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Limits of retrying.

    Attributes:
        busy_tries: How often to retry when the server says it is busy.
        error_tries: How often to retry on other server errors.
        longest_s: No single wait is longer.
    """

    busy_tries: int = 8
    error_tries: int = 2
    longest_s: float = 60.0

    def wait_s(
        self, status: int, retry_after: str | None, tried: int, draw: random.Random
    ) -> float | None:
        """Return how long to wait before the next try, in s; None to stop trying.

        Args:
            status: HTTP status; 0 when there was no answer.
            retry_after: The header's text, if any; only seconds are understood.
            tried: How often the call was made already.
            draw: Source of jitter.
        """
        allowed = self.busy_tries if status in BUSY else self.error_tries
        retryable = status in BUSY or status == 0 or status >= 500
        if not retryable or tried > allowed:
            return None
        asked = _seconds(retry_after)
        if asked is not None:
            return min(self.longest_s, asked) * (1 + 0.1 * draw.random())
        return float(min(self.longest_s, 0.5 * 2 ** (tried - 1)) * (0.75 + 0.5 * draw.random()))


def _seconds(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 <= value < 1e6 else None
