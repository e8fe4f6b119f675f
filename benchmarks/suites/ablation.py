"""One part of the Gate switched off at a time: exactly its own failures come back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import yaml

from interlock.benchmarks.suites import crash, safety, stale

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from interlock.benchmarks.suites.rows import Trial

    Settings = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part that can be switched off.

    Attributes:
        name: Its name in the table.
        suite: Suite that shows what it is for.
        without: Removes it from a configuration.
        lease_ms: Lease that programs ask for.
    """

    name: str
    suite: ModuleType
    without: Callable[[Settings], None]
    lease_ms: int = 200


def _drop(*checks: str) -> Callable[[Settings], None]:
    def drop(config: Settings) -> None:
        for name in checks:
            del config["checks"][name]

    return drop


def _no_growth(config: Settings) -> None:
    config["checks"]["separation"]["person_speed_mps"] = 0.0


def _long_leases(config: Settings) -> None:
    config["max_lease_ms"] = 60_000


PARTS = (
    Part(name="path and recovery", suite=safety, without=_drop("path", "recovery")),
    Part(name="workspace", suite=safety, without=_drop("workspace")),
    Part(name="separation", suite=stale, without=_drop("separation")),
    Part(name="growth with age", suite=stale, without=_no_growth),
    Part(name="leases", suite=crash, without=_long_leases, lease_ms=60_000),
)


def trials(*, variants: int = 12, seed: int = 0) -> Iterator[Trial]:
    """Run each suite with all parts, and again without each of its parts."""
    for suite in (safety, stale, crash):
        yield from suite.trials(variants=variants, seed=seed, arm="all parts")
    for part in PARTS:
        config = yaml.safe_load(part.suite.CONFIG)
        part.without(config)
        text = yaml.safe_dump(config)
        more = {"lease_ms": part.lease_ms} if part.suite is crash else {}
        label = f"without {part.name}"
        for trial in part.suite.trials(
            variants=variants, seed=seed, config=text, arm=label, **more
        ):
            yield replace(trial, arm=label)
