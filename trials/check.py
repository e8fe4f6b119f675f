"""Is a task sound? The reference solution must score 1 and doing nothing 0, over several seeds."""

from __future__ import annotations

import tempfile
from pathlib import Path

from interlock.trials.library import load
from interlock.trials.plan import Plan
from interlock.trials.runner import run_trial


def check_task(name: str, seeds: tuple[int, ...], *, root: Path | None = None) -> list[str]:
    """Return what is wrong with a task; nothing if it is sound."""
    task = load(name, root)
    problems: list[str] = []
    with tempfile.TemporaryDirectory(prefix="interlock-check-") as folder:
        for seed in seeds:
            for harness, wanted in (("oracle", 1.0), ("noop", 0.0)):
                plan = Plan(task=task, harness=harness, out=Path(folder), seed=seed)
                result = run_trial(plan)
                if result["reward"] != wanted:
                    why = result["exception"] or result["agent"].get("stopped_by") or ""
                    problems.append(
                        f"{harness} with seed {seed} scored {result['reward']}, not {wanted:g} "
                        f"({result['outcome']}, {result['steps']} steps) {why}"
                    )
    return problems
