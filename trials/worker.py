"""A process that runs trials one after the other: a JSON line of options in, a summary out."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlock.messages.errors import InterlockError
from interlock.trials.library import load
from interlock.trials.plan import Plan, VideoOptions, with_timeout
from interlock.trials.runner import run_trial

if TYPE_CHECKING:
    from collections.abc import Mapping

PR_SET_PDEATHSIG = 1
SUMMARY = ("trial", "reward", "outcome", "steps", "wall_s", "exception")


def main() -> None:
    """Serve until the input ends, or the process that started us is gone."""
    die_with_parent()
    for line in sys.stdin:
        summary = run_one(json.loads(line))
        sys.stdout.write(json.dumps(summary) + "\n")
        sys.stdout.flush()


def run_one(options: Mapping[str, Any]) -> dict[str, Any]:
    """Run one trial; what goes wrong is in the summary."""
    try:
        result = run_trial(plan_from(options))
    except KeyboardInterrupt:
        return _failed("Cancelled", "stopped by Ctrl-C")
    except InterlockError as error:
        return _failed(type(error).__name__, str(error))
    return {key: result[key] for key in SUMMARY}


def plan_from(options: Mapping[str, Any]) -> Plan:
    """Return the plan that options describe; paths are text."""
    root = Path(options["root"]) if options.get("root") else None
    video = options.get("video")
    policy = options.get("policy_config")
    return Plan(
        task=with_timeout(load(options["task"], root), options.get("timeout_s")),
        harness=options["harness"],
        model=options.get("model", ""),
        out=Path(options["out"]),
        seed=options.get("seed", 0),
        epoch=options.get("epoch", 0),
        attempt=options.get("attempt", 0),
        interface=options.get("interface", "cli"),
        extra_instruction=options.get("extra_instruction", ""),
        prior_learnings=options.get("prior_learnings", ""),
        policy_config=Path(policy) if policy else None,
        video=VideoOptions(**video) if video else None,
        options=dict(options.get("options", {})),
    )


def die_with_parent() -> None:
    """Have the kernel kill us when the run is killed, so that a resumed one is alone."""
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() == 1:
        sys.exit(1)


def _failed(kind: str, message: str) -> dict[str, Any]:
    exception = {"type": kind, "message": message}
    return dict.fromkeys(SUMMARY) | {"outcome": "invalid", "steps": 0, "exception": exception}


if __name__ == "__main__":
    main()
