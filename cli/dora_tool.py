"""The `dora` command as Interlock runs it: which one, in which environment, and what it says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from interlock.messages.errors import InterlockError

if TYPE_CHECKING:
    from collections.abc import Mapping


class DoraError(InterlockError):
    """dora refused, is missing or is not the one that Interlock needs."""


def scripts_folder() -> Path:
    """Return the folder of this environment's programs."""
    return Path(sys.prefix) / "bin"


def dora_program() -> str:
    """Return the `dora` of this environment, else the first on PATH.

    Raises:
        DoraError: If there is none.
    """
    ours = scripts_folder() / "dora"
    found = str(ours) if ours.is_file() else shutil.which("dora")
    if not found:
        raise DoraError(f"no dora command: {sys.executable} -m pip install dora-rs-cli==1.1.0")
    return found


def dora_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return an environment in which dora runs nodes with this Python.

    dora asks `uv python find`, which obeys UV_PYTHON, and then looks for `python` on PATH.
    """
    environ = dict(os.environ)
    environ.pop("PYTHONHOME", None)
    environ["PATH"] = f"{scripts_folder()}{os.pathsep}{environ.get('PATH', '')}"
    environ["UV_PYTHON"] = sys.executable
    if sys.prefix != sys.base_prefix:
        environ["VIRTUAL_ENV"] = sys.prefix
    environ["RUST_BACKTRACE"] = "0"
    return environ | dict(extra or {})


def ask_dora(*words: str, timeout_s: float = 30.0) -> subprocess.CompletedProcess[str]:
    """Run a dora command that ends by itself.

    Raises:
        DoraError: If it can't be run or does not end in time.
    """
    try:
        return subprocess.run(
            [dora_program(), *words],
            env=dora_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DoraError(f"dora {words[0]}: {error}") from error


def complaint(stderr: str) -> str:
    """Return what dora's error report says, as one line: its innermost cause."""
    text = stderr.partition("Location:")[0].partition("Stack backtrace:")[0]
    head, _, causes = text.partition("Caused by:")
    lines = [x.strip() for x in (causes or head).splitlines() if x.strip()]
    lines = [x for x in lines if x != "[ERROR]" and not x.startswith("hint:")]
    return lines[-1].lstrip("0123456789: ") if lines else "no reason given"


def expand(path: Path) -> dict[str, Any]:
    """Return a dataflow with its modules expanded, as dora will run it.

    Raises:
        DoraError: With dora's reason.
    """
    done = ask_dora("expand", str(path))
    if done.returncode != 0:
        raise DoraError(f"{path}: {complaint(done.stderr)}")
    data = yaml.safe_load(done.stdout)
    if not isinstance(data, dict):
        raise DoraError(f"{path}: dora expand printed no dataflow")
    return data
