"""What a check finds: a margin, and a reason when the margin is gone."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One reason to refuse a command, or its rows from ``row`` on.

    Attributes:
        code: Machine-readable name, e.g. ``joint_velocity``.
        sentence: Value, limit and place, for people and models.
        way_out: What to do instead, as one sentence.
        value: What was found, in the limit's unit; None when it is no number.
        limit: What is allowed; None when it is no number.
        row: First row of the command that is concerned; None when all of it is.
    """

    code: str
    sentence: str
    way_out: str = ""
    value: float | None = None
    limit: float | None = None
    row: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one check found about one command.

    Attributes:
        name: What the margin is of, e.g. ``joint_velocity`` or ``hand-table``.
        margin: Distance to the limit in the limit's own unit; negative when broken; None when
            the check is no number.
        reason: Why the command is refused; None when it passes.
        age_ms: Age of the observation it is about, in ms; None for other checks.
        terms: The six terms of separation and the distance, in m; empty for other checks.
    """

    name: str
    margin: float | None = None
    reason: Reason | None = None
    age_ms: float | None = None
    terms: tuple[float, ...] = ()


def sentence_of(reasons: tuple[Reason, ...]) -> str:
    """Return one sentence a person or a model can act on: the first reason and its way out."""
    if not reasons:
        return ""
    first = reasons[0]
    more = f" ({len(reasons) - 1} more reasons)" if len(reasons) > 1 else ""
    way_out = f" {first.way_out}" if first.way_out else ""
    return f"{first.sentence}{more}.{way_out}"


def admissible_rows(reasons: tuple[Reason, ...], rows: int) -> int:
    """Return how many rows come before the first one that a reason concerns."""
    if not reasons:
        return rows
    return min(0 if r.row is None else r.row for r in reasons)
