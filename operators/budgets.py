"""What each edge may cost at most, and which edges broke it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from interlock.messages import nearest
from interlock.messages.settings import build, read_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from interlock.operators.latency import Edge


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits of one edge; None is no limit.

    Attributes:
        p50_ms: Largest median latency, in ms.
        p99_ms: Largest 99th percentile of latency, in ms.
        max_ms: Largest single latency, in ms.
        max_age_ms: Largest age of the data at a decision of the consumer, in ms.
        drops: Most messages that may be missing.
        unused: Most messages that the consumer may leave unused; 0 where each one counts.
    """

    p50_ms: float | None = None
    p99_ms: float | None = None
    max_ms: float | None = None
    max_age_ms: float | None = None
    drops: int | None = None
    unused: int | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            limit = getattr(self, field.name)
            if limit is not None and not (limit >= 0):
                raise ValueError(f"{field.name} must not be negative, got {limit}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """The limits of a run.

    Attributes:
        budgets: Edge, as ``node/output -> consumer``, to its limits.
    """

    budgets: dict[str, Budget]


def read_budgets(path: Path) -> dict[str, Budget]:
    """Read a YAML file with the one key ``budgets``.

    Raises:
        SettingsError: Naming the file, the edge and the key.
    """
    return build(Budgets, read_yaml(path), where=str(path)).budgets


def violations(edges: Iterable[Edge], budgets: Mapping[str, Budget]) -> list[str]:
    """Return one sentence per broken limit; an edge that was never seen breaks its budget."""
    found = {edge.name: edge for edge in edges}
    sentences = []
    for name, budget in budgets.items():
        edge = found.get(name)
        if edge is None or not edge.count:
            sentences.append(
                f"{name}: has a budget and no message was seen; {nearest(name, found)}"
            )
        else:
            sentences += _broken(edge, budget)
    return sentences


def _broken(edge: Edge, budget: Budget) -> list[str]:
    measured = {
        "p50_ms": (edge.p50_ms, "median latency", " ms"),
        "p99_ms": (edge.p99_ms, "p99 latency", " ms"),
        "max_ms": (edge.max_ms, "largest latency", " ms"),
        "max_age_ms": (edge.age_max_ms, "largest age at a decision", " ms"),
        "drops": (edge.drops, "messages lost:", ""),
        "unused": (edge.unused, "messages never used:", ""),
    }
    sentences = []
    for key, (value, words, unit) in measured.items():
        limit = getattr(budget, key)
        if limit is None or 0 <= value <= limit:
            continue
        if value < 0:
            sentences.append(f"{edge.name}: {key} has a budget and was not measured")
            continue
        sentences.append(f"{edge.name}: {words} {value:.4g}{unit}, budget {limit:g}{unit}")
    return sentences
