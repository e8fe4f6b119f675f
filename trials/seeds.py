"""Read a list of seeds as people write it: ``0-4``, ``1,5,9``."""

from __future__ import annotations

from interlock.trials.errors import UsageError

MAX_SEEDS = 10_000


def parse_seeds(text: str) -> tuple[int, ...]:
    """Return the seeds, in order, each once.

    Raises:
        UsageError: If it is no such list, is empty, or holds too many.
    """
    seeds: list[int] = []
    for part in text.split(","):
        low, dash, high = part.strip().partition("-")
        if not low.isdigit() or (dash and not high.isdigit()):
            raise UsageError(f"seeds are written like 0-4 or 1,5,9; got {text!r}")
        last = int(high) if dash else int(low)
        if last < int(low) or last - int(low) >= MAX_SEEDS:
            raise UsageError(f"seeds {part!r}: from 1 to {MAX_SEEDS} seeds, lowest first")
        seeds += range(int(low), last + 1)
    return tuple(dict.fromkeys(seeds))
