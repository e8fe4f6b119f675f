"""Distil a trial into a page of learnings: what was tried, refused and found, and how it ended."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from interlock.trials.results import Trial


def write_learnings(trial: Trial) -> str:
    """Return Markdown for ``--prior-learnings``."""
    result, verdict = trial.result, trial.result["verdict"] or {}
    lines = [
        f"# {trial.key} by {trial.label}",
        "",
        f"Reward {result['reward']}, outcome {result['outcome']}, {result['steps']} of "
        f"{result['max_steps']} control steps, {result['wall_s']:.1f} s.",
        *_about_goal(trial, verdict),
        "",
        "## What was asked of the robot",
        "",
    ]
    requests = read_requests(trial.folder)
    counts = Counter(str(entry["request"]["verb"]) for entry in requests)
    lines += [f"- {verb}: {count}" for verb, count in counts.most_common()]
    refused = Counter(str(e["reply"]["error"]) for e in requests if not e["reply"]["ok"])
    if refused:
        lines += ["", "## What was refused, and the way out", ""]
        lines += [f"- {count} x {text}" for text, count in refused.most_common(10)]
    return "\n".join(lines) + "\n"


def read_requests(folder: Path) -> list[dict[str, Any]]:
    """Return the request log; a last line that was cut off is left out."""
    entries = []
    for line in (folder / "requests.jsonl").read_text(encoding="utf-8").splitlines():
        try:
            entries.append(json.loads(line))
        except ValueError:
            continue
    return entries


def _about_goal(trial: Trial, verdict: Mapping[str, Any]) -> list[str]:
    first = trial.config["protocol"]["judge"] == "first"
    if trial.result["exception"]:
        return [f"It was not scored: {trial.result['exception']['message']}"]
    if trial.solved:
        return ["It was solved."]
    notes = []
    if verdict.get("harm_step"):
        notes.append(f"Harm was done at step {verdict['harm_step']}; that is never solved.")
    if verdict.get("goal_held"):
        notes.append("The goal held at the end, but the episode was over before `robo done`.")
    elif verdict.get("first_success_step"):
        notes.append(
            f"The goal held at step {verdict['first_success_step']} and was lost again afterwards."
        )
    if verdict.get("progress") is not None:
        notes.append(f"{verdict['progress']:.0%} of the goal held at the end.")
    if not first and trial.result["outcome"] != "done":
        notes.append("Success counts only after `robo done`.")
    return notes
