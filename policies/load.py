"""Load a program from a Python file."""

from __future__ import annotations

import inspect
import sys
import traceback
import types
from typing import TYPE_CHECKING, Any

from interlock.policies.errors import ProgramError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

MAX_SOURCE_BYTES = 1_000_000
#: Name of the module that a program becomes.
MODULE = "interlock_program"


def load_program(path: Path) -> Callable[[], Coroutine[Any, Any, Any]]:
    """Return ``main`` of a program file.

    Raises:
        ProgramError: If the file is missing, does not import, or has no ``async def main()``.
    """
    try:
        source = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ProgramError(f"cannot read the program {path}: {reason}") from error
    return compile_program(source, str(path))


def compile_program(source: str, name: str) -> Callable[[], Coroutine[Any, Any, Any]]:
    """Return ``main`` of program text.

    Raises:
        ProgramError: If it does not run, or has no ``async def main()``.
    """
    if len(source) > MAX_SOURCE_BYTES:
        raise ProgramError(f"program {name}: {len(source)} characters, at most {MAX_SOURCE_BYTES}")
    # A module of its own: dataclasses and type hints look their module up by name.
    module = types.ModuleType(MODULE)
    module.__file__ = name
    sys.modules[MODULE] = module
    try:
        exec(compile(source, name, "exec"), vars(module))
    except Exception as error:
        raise ProgramError(f"program {name}: {_where(error, name)}") from error
    main = getattr(module, "main", None)
    if not inspect.iscoroutinefunction(main):
        raise ProgramError(f"program {name}: it needs `async def main():` and has none")
    found: Callable[[], Coroutine[Any, Any, Any]] = main
    return found


def _where(error: Exception, name: str) -> str:
    """Return an error with the line of the program that it came from."""
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}: {error.msg}"
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == name]
    place = f"line {lines[-1]}: " if lines else ""
    return f"{place}{type(error).__name__}: {error}"
