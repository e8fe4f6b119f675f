"""Guards a node against the program it runs: one that blocks, and one whose file has changed."""

from __future__ import annotations

import contextlib
import signal
import threading
from typing import TYPE_CHECKING, Any

from interlock.policies.errors import ProgramError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: A program that does not await for this long is interrupted, in s. Its lease is void long before.
BLOCKED_S = 2.0


@contextlib.contextmanager
def not_longer_than(seconds: float = BLOCKED_S) -> Iterator[None]:
    """Raise ProgramError inside the block when it takes longer; again and again if it is caught.

    Only the main thread can be interrupted; elsewhere the block runs unguarded.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: Any) -> None:
        place = f"{frame.f_code.co_filename}, line {frame.f_lineno}" if frame else "unknown place"
        raise ProgramError(
            f"the program blocked its loop for {seconds:g} s in {place}. Use `await`: "
            "asyncio.sleep instead of time.sleep, and a process of its own for long work."
        )

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class FileWatch:
    """Says once that a file has changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = self._stat()

    def changed(self) -> bool:
        """Return True when the file is another than at the last call."""
        now = self._stat()
        if now is None or now == self._seen:
            return False
        self._seen = now
        return True

    def _stat(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size
