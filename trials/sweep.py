"""Many trials: which there are, which are finished, and whether a resumed run is the same run.

The state is the folder itself: ``sweep.json`` says what was planned, and a trial is finished when
its folder holds a result that was scored. So nothing is lost by ``kill -9``.
"""

from __future__ import annotations

import fnmatch
import json
import os
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from interlock.messages.errors import InterlockError
from interlock.trials.plan import Plan, fingerprint, protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

FIRST_WAIT_S = 5.0
SWEEP_FILE = "sweep.json"
FAILED_FOLDER = "_infra_failed"
#: Failures that another try cannot cure.
PERMANENT = frozenset({"PreflightError", "InvalidSetup", "TaskError", "Cancelled", "Stopped"})


class SweepError(InterlockError):
    """A sweep that cannot start or go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What became of one trial: the summary of its last try."""

    key: str
    folder: str
    reward: float | None
    outcome: str
    steps: int
    wall_s: float
    exception: Mapping[str, Any] | None


def choose(
    ids: Sequence[str],
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    sample: int | None = None,
    sample_seed: int = 0,
    limit: int | None = None,
) -> list[str]:
    """Return the task ids that pass the filters, in order.

    Raises:
        SweepError: If none is left, or a number makes no sense.
    """
    for name, number in (("--sample", sample), ("--limit", limit)):
        if number is not None and number < 1:
            raise SweepError(f"{name} must be 1 or more, got {number}: no trial would be run")
    chosen = [i for i in ids if not include or any(fnmatch.fnmatch(i, g) for g in include)]
    chosen = [i for i in chosen if not any(fnmatch.fnmatch(i, g) for g in exclude)]
    if sample is not None and sample < len(chosen):
        picked = set(random.Random(sample_seed).sample(chosen, sample))
        chosen = [i for i in chosen if i in picked]
    chosen = chosen[:limit]
    if not chosen:
        raise SweepError("no task is left; see `interlock tasks list` and check the filters")
    return chosen


def identity(plans: Sequence[Plan]) -> dict[str, Any]:
    """Return what must be the same when a run is resumed."""
    first = plans[0]
    return {
        "harness": first.harness,
        "model": first.model,
        "trials": {plan.key: fingerprint(protocol(plan)) for plan in plans},
    }


def begin(out: Path, plans: Sequence[Plan], *, resume: bool) -> None:
    """Write what is planned, or check that a resumed run is the same.

    Raises:
        SweepError: If the folder holds another run, or one that was not to be resumed.
    """
    path = out / SWEEP_FILE
    planned = identity(plans)
    if not path.exists():
        out.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".part")
        temporary.write_text(json.dumps(planned, indent=1) + "\n", encoding="utf-8")
        temporary.replace(path)
        return
    if not resume:
        raise SweepError(f"{out} holds a run already; add --resume, or choose another --out")
    if changes := _changes(json.loads(path.read_text(encoding="utf-8")), planned):
        raise SweepError(
            f"{out} holds another run: {'; '.join(changes)}. Choose another --out, or ask for what "
            "was planned there"
        )


def finished(out: Path, plans: Sequence[Plan]) -> dict[str, dict[str, Any]]:
    """Return key -> result of the trials that were scored."""
    done = {}
    for plan in plans:
        result = read_result(out / plan.name())
        if result is not None and result.get("status") == "completed":
            done[plan.key] = result
    return done


def read_result(folder: Path) -> dict[str, Any] | None:
    """Return the result in a trial folder, or None if it was not finished."""
    try:
        result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return result if isinstance(result, dict) else None


def retry_wait_s(summary: Mapping[str, Any], tried: int, *, retries: int) -> float | None:
    """Return how long to wait before an infrastructure failure is tried again; None for never.

    Args:
        summary: What the failed try reported; its exception may carry ``retry_after_s``.
        tried: How many tries were made.
        retries: How many more than the first are allowed.
    """
    exception = summary.get("exception")
    if exception is None or exception.get("type") in PERMANENT or tried > retries:
        return None
    asked = exception.get("retry_after_s")
    first = float(os.environ.get("INTERLOCK_RETRY_WAIT_S", FIRST_WAIT_S))
    own = min(60.0, first * float(2 ** (tried - 1)))
    return max(own, min(600.0, float(asked))) if asked is not None else own


def keep_failed(out: Path, plan: Plan, attempt: int) -> None:
    """Move the folder of a failed try aside, so that nothing of it is lost or counted."""
    folder = out / plan.name()
    if not folder.exists():
        return
    aside = out / FAILED_FOLDER / f"{plan.name()}.{attempt}"
    while aside.exists():
        attempt += 1
        aside = aside.with_suffix(f".{attempt}")
    aside.parent.mkdir(exist_ok=True)
    folder.replace(aside)


def headline(results: Sequence[Mapping[str, Any]], planned: int) -> str:
    """Return the one line that says what the run is worth."""
    scored = [r for r in results if r.get("exception") is None and r.get("reward") is not None]
    failed = planned - len(scored)
    note = f"; {failed} of {planned} not scored (infrastructure)" if failed else ""
    if not scored:
        return f"nothing scored{note}"
    solved = sum(float(r["reward"]) == 1.0 for r in scored)
    return f"solved {solved} of {len(scored)} scored trials{note}"


def _changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    changes = [
        f"{name} was {before.get(name)!r}, is {now[name]!r}"
        for name in ("harness", "model")
        if before.get(name) != now[name]
    ]
    old, new = before.get("trials", {}), now["trials"]
    if set(old) != set(new):
        changes.append(f"{len(set(old) ^ set(new))} trials were added or removed")
    changed = [key for key in sorted(set(old) & set(new)) if old[key] != new[key]]
    if changed:
        changes.append(f"task or settings changed for {len(changed)} trials, first {changed[0]}")
    return changes
