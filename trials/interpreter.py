"""Which Python an agent's helpers run with, and which folders programs need to be readable."""

from __future__ import annotations

import shutil
import sys
import sysconfig
from pathlib import Path


def python_program() -> str:
    """Return the interpreter that runs us."""
    return sys.executable


def interpreter_folders() -> tuple[Path, ...]:
    """Return the folders that the interpreter and its packages live in."""
    folders = {Path(sys.prefix), Path(sys.base_prefix), Path(sysconfig.get_paths()["stdlib"])}
    folders.add(Path(sys.executable).resolve().parent.parent)
    return tuple(sorted(folder for folder in folders if folder.is_dir() and _is_specific(folder)))


def program_folders(program: str) -> tuple[Path, ...]:
    """Return the folders a program on PATH needs: where it is found, and where it really lies.

    A program inside ``node_modules`` needs that whole folder. Home and root are never returned.
    """
    found = shutil.which(program)
    if found is None:
        return ()
    folders = {Path(found).parent, Path(found).resolve().parent}
    for part in Path(found).resolve().parents:
        if part.name == "node_modules":
            folders.add(part)
    return tuple(sorted(folder for folder in folders if _is_specific(folder)))


def _is_specific(folder: Path) -> bool:
    return folder not in (Path("/"), Path.home(), Path("/usr"), Path("/home"), Path("/tmp"))
