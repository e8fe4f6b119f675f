"""What a set of trials says: rates with intervals, both denominators, comparisons, protocols."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from interlock.messages.errors import nearest
from interlock.operators.statistics import (
    Interval,
    Paired,
    bootstrap_mean,
    compare_paired,
    wilson,
)
from interlock.trials.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlock.trials.results import Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One group of trials.

    Attributes:
        group: What they share.
        attempted: All trials of the group.
        scored: Those that were scored.
        solved: Those that were solved.
        rate: Solved of scored; None when nothing was scored.
        rate_of_all: Solved of attempted: infrastructure failures count as unsolved.
        steps: Mean control steps of the scored.
        wall_s: Mean wall-clock time of the scored.
        cost_usd: Sum of what is known; None when nothing is.
        fingerprints: Protocols in the group, task by task.
    """

    group: str
    attempted: int
    scored: int
    solved: int
    rate: Interval | None
    rate_of_all: Interval
    steps: Interval | None
    wall_s: Interval | None
    cost_usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two labels on the trials they share; ``unlike`` names differences that spoil it."""

    first: str
    second: str
    paired: Paired | None
    unlike: tuple[str, ...]
    only_first: int
    only_second: int


GROUPS = ("label", "harness", "model", "suite", "task", "world")


def summarise(trials: Sequence[Trial], by: Sequence[str] = ("label",)) -> list[Row]:
    """Return one row per group, in order of its name.

    Raises:
        UsageError: If a group is unknown.
    """
    for name in by:
        if name not in GROUPS:
            raise UsageError(f"cannot group by {name!r}; {nearest(name, GROUPS)}")
    groups: dict[str, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(", ".join(_value(trial, name) for name in by), []).append(trial)
    return [_row(group, groups[group]) for group in sorted(groups)]


def compare(trials: Sequence[Trial]) -> list[Comparison]:
    """Return every pair of labels, compared on their shared trial ids."""
    labels = sorted({trial.label for trial in trials})
    return [_compare(trials, first, second) for first, second in combinations(labels, 2)]


def protocol_differences(first: Trial, second: Trial) -> list[str]:
    """Return which parts of the protocol of two trials differ."""
    one, two = first.config["protocol"], second.config["protocol"]
    names = [name for name in sorted(set(one) | set(two)) if one.get(name) != two.get(name)]
    before, after = (t.config["provenance"]["versions"] for t in (first, second))
    names += [f"version of {n}" for n in sorted(before) if before.get(n) != after.get(n)]
    return names


def distrusted(trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials whose verdict does not verify."""
    return [trial for trial in trials if trial.distrust]


def _value(trial: Trial, name: str) -> str:
    return trial.label if name == "label" else str(trial.config[name]) or "-"


def _row(group: str, trials: Sequence[Trial]) -> Row:
    scored = [trial for trial in trials if trial.scored]
    solved = sum(trial.solved for trial in scored)
    costs = [t.result["usage"].get("cost_usd") for t in trials]
    known = [float(cost) for cost in costs if cost is not None]
    return Row(
        group=group,
        attempted=len(trials),
        scored=len(scored),
        solved=solved,
        rate=wilson(solved, len(scored)) if scored else None,
        rate_of_all=wilson(solved, len(trials)),
        steps=_mean(scored, "steps"),
        wall_s=_mean(scored, "wall_s"),
        cost_usd=sum(known) if known else None,
    )


def _mean(trials: Sequence[Trial], key: str) -> Interval | None:
    return bootstrap_mean([float(t.result[key]) for t in trials]) if trials else None


def _compare(trials: Sequence[Trial], first: str, second: str) -> Comparison:
    one = {t.key: t for t in trials if t.label == first and t.scored}
    two = {t.key: t for t in trials if t.label == second and t.scored}
    shared = sorted(set(one) & set(two))
    unlike = sorted({name for key in shared for name in protocol_differences(one[key], two[key])})
    paired = None
    if shared and not unlike:
        outcomes: list[Any] = [{key: side[key].solved for key in shared} for side in (one, two)]
        paired = compare_paired(*outcomes)
    return Comparison(
        first=first,
        second=second,
        paired=paired,
        unlike=tuple(unlike),
        only_first=len(set(one) - set(two)),
        only_second=len(set(two) - set(one)),
    )
