"""What a task makes of the Gate's answers: slow down, try again, or give up and say why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.policies.errors import AuthorityError, GateRefusedError

if TYPE_CHECKING:
    from interlock.messages import Verdict

SLOWER = 0.6
SLOWEST = 0.1
#: A task whose motion has not been admitted whole for this long gives up.
GIVE_UP_NS = 1_000_000_000
#: After a refusal that going slower does not mend, the next try comes this much later.
RETRY_NS = 100_000_000
#: A Gate that has not answered for this long is gone.
SILENCE_NS = 1_000_000_000
_SLOW_DOWN = ("velocity", "acceleration", "jerk", "speed", "separation", "row_unreachable")


class Answers:
    """The Gate's answers to the commands of one task.

    Attributes:
        pace: Share of the speed that the Gate lets through, as far as it is known.
    """

    def __init__(self) -> None:
        self.pace = 1.0
        self._asked: dict[int, tuple[int, int, int]] = {}
        self._last: Verdict | None = None
        self._refused = False
        self._blocked_ns: int | None = None
        self._retry_ns = 0

    def asked(self, number: int, *, now_ns: int, start_ns: int, rows: int) -> None:
        """Note a command that the Gate has to answer; 0 rows for the fingers."""
        self._asked[number] = (now_ns, start_ns, rows)

    def take(self, verdict: Verdict) -> tuple[int, int] | None:
        """Take an answer; return start, in ns, and admitted rows of a motion let in in part."""
        _, start_ns, rows = self._asked.pop(verdict.seq, (0, 0, 0))
        if verdict.admitted and verdict.rows >= rows:
            self._last, self._blocked_ns = None, None
            return None
        self._last = verdict
        self._refused = self._refused or not verdict.admitted
        return (start_ns, verdict.rows) if verdict.admitted else None

    def waiting(self, now_ns: int) -> bool:
        """Return True while it is too early to try again."""
        return now_ns < self._retry_ns

    def react(self, now_ns: int) -> bool:
        """Return True when the motion has to be planned anew.

        Raises:
            GateRefusedError: When the Gate has not let the motion through for ``GIVE_UP_NS``.
            AuthorityError: When the Gate does not answer.
        """
        oldest = next(iter(self._asked.values()), None)
        if oldest is not None and now_ns - oldest[0] > SILENCE_NS:
            self._asked.clear()
            raise AuthorityError("the Gate has not answered for 1 s. Is its node alive?")
        verdict, refused = self._last, self._refused
        self._refused = False
        if verdict is None:
            return False
        if self._blocked_ns is None:
            self._blocked_ns = now_ns
        if now_ns - self._blocked_ns > GIVE_UP_NS:
            raise GateRefusedError(verdict.sentence, verdict.codes)
        if not refused:
            return False
        if any(word in code for code in verdict.codes for word in _SLOW_DOWN):
            self.pace = max(SLOWEST, self.pace * SLOWER)
        else:
            self._retry_ns = now_ns + RETRY_NS
        return True
