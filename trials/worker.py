"""A process that runs trials one after the other: a JSON line of options in, a summary out."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import traceback
from typing import TYPE_CHECKING, Any

from interlock.messages.errors import InterlockError
from interlock.trials.planning import plan_from
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
    except Exception as error:
        traceback.print_exc()
        return _failed(type(error).__name__, str(error))
    return {key: result[key] for key in SUMMARY}


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
