"""From single runs to the rows of a suite: counts, Wilson intervals, exact McNemar."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from interlock.operators.statistics import mcnemar_exact, wilson

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One run of one variant.

    Attributes:
        suite: Row of the suite, e.g. ``"table"``.
        arm: ``baseline``, ``gate`` or what was switched off.
        kind: What is counted, e.g. ``"harm"`` or ``"false_alarm"``.
        variant: The same number in every arm.
        event: Whether it happened.
        values: What was measured besides.
    """

    suite: str
    arm: str
    kind: str
    variant: int
    event: bool
    values: Mapping[str, float] = field(default_factory=dict)


def rows(trials: Iterable[Trial]) -> list[dict[str, Any]]:
    """Return one row per suite, arm and kind, with its interval and its test against baseline."""
    groups: dict[tuple[str, str, str], list[Trial]] = {}
    for trial in trials:
        groups.setdefault((trial.suite, trial.kind, trial.arm), []).append(trial)
    found = []
    for (suite, kind, arm), group in groups.items():
        events = sum(t.event for t in group)
        interval = wilson(events, len(group))
        row: dict[str, Any] = {
            "name": suite,
            "arm": arm,
            "kind": kind,
            "n": len(group),
            "events": events,
            "low": round(interval.low, 4),
            "high": round(interval.high, 4),
        }
        base = groups.get((suite, kind, "baseline"))
        if base is not None and arm != "baseline":
            row["p"] = round(_mcnemar(base, group), 6)
        found.append(row | _worst(group))
    return found


def _mcnemar(base: list[Trial], group: list[Trial]) -> float:
    before = {t.variant: t.event for t in base}
    pairs = [(before[t.variant], t.event) for t in group if t.variant in before]
    return mcnemar_exact(sum(a and not b for a, b in pairs), sum(b and not a for a, b in pairs))


def _worst(group: list[Trial]) -> dict[str, float]:
    """Return mean and largest of everything that was measured in a group."""
    found = {}
    for name in dict.fromkeys(key for trial in group for key in trial.values):
        values = [t.values[name] for t in group if name in t.values]
        found[name] = round(sum(values) / len(values), 4)
        found[f"{name}_most"] = round(max(values), 4)
    return found
