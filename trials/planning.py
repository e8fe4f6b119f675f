"""Make a plan from options as they come from a command line or a pipe."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlock.trials.harness import make_harness
from interlock.trials.library import load
from interlock.trials.plan import Plan, VideoOptions, with_timeout

if TYPE_CHECKING:
    from collections.abc import Mapping


def plan_from(options: Mapping[str, Any]) -> Plan:
    """Return the plan that options describe, with the harness's own model when none is asked for.

    Raises:
        TaskError: If there is no such task.
        PreflightError: If there is no such harness, or an option makes no sense.
    """
    root = Path(options["root"]) if options.get("root") else None
    video = options.get("video")
    policy = options.get("policy_config")
    harness = make_harness(options["harness"])
    model = str(options.get("model") or getattr(harness, "default_model", ""))
    return Plan(
        task=with_timeout(load(options["task"], root), options.get("timeout_s")),
        harness=options["harness"],
        model=model,
        out=Path(options["out"]),
        seed=options.get("seed", 0),
        epoch=options.get("epoch", 0),
        attempt=options.get("attempt", 0),
        interface=options.get("interface", "cli"),
        extra_instruction=options.get("extra_instruction", ""),
        prior_learnings=options.get("prior_learnings", ""),
        policy_config=Path(policy) if policy else None,
        video=VideoOptions(**video) if video else None,
        allow_hosts=tuple(options.get("allow_hosts", ())),
        options=dict(options.get("options", {})),
    )
