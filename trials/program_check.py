"""Check that an agent's program is installed, before anything starts."""

from __future__ import annotations

import shutil

from interlock.trials.errors import PreflightError


def need_program(name: str, *, harness: str, install: str) -> None:
    """Refuse when a program is not on PATH.

    Raises:
        PreflightError: With how to install it.
    """
    if shutil.which(name) is None:
        raise PreflightError(f"harness {harness} needs `{name}` on PATH. Install it: {install}")
