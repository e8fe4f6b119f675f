"""Find tasks: files below ``configs/tasks``, and suites that other packages generate.

A generated suite is an entry point of group ``interlock.suites``: a callable that returns an object
with ``ids()`` and ``read(task_id)``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from interlock import configs
from interlock.messages.errors import nearest
from interlock.trials.errors import TaskError
from interlock.trials.task import Task, read_task

SUITES_GROUP = "interlock.suites"


class GeneratedSuite(Protocol):
    """Tasks that are made from an installed environment, not from files."""

    def ids(self) -> list[str]:
        """Return the ids of its tasks."""
        ...

    def read(self, task_id: str) -> Task:
        """Return one task."""
        ...


def bundled_root() -> Path:
    """Return the folder of the tasks we ship."""
    return Path(configs.__file__).parent / "tasks"


def task_files(root: Path | None = None) -> dict[str, Path]:
    """Return task id -> file, for one folder of suites.

    Raises:
        TaskError: If two files have the same id.
    """
    files: dict[str, Path] = {}
    for path in sorted((root or bundled_root()).glob("*/*.md")):
        if path.stem in files:
            raise TaskError(f"two tasks are called {path.stem!r}: {files[path.stem]} and {path}")
        files[path.stem] = path
    return files


def generated_suites() -> dict[str, GeneratedSuite]:
    """Return the suites that installed packages generate."""
    from importlib.metadata import entry_points

    from interlock.trials.gym_suites import GymSuites

    plug_ins = {entry.name: entry.load()() for entry in entry_points(group=SUITES_GROUP)}
    return {"gym": GymSuites(), **plug_ins}


def all_ids(root: Path | None = None) -> list[str]:
    """Return every task id, ours first."""
    ids = sorted(task_files(root))
    if root is None:
        for suite in generated_suites().values():
            ids += suite.ids()
    return ids


def load(name: str, root: Path | None = None) -> Task:
    """Return a task by id or by the path of its file.

    Raises:
        TaskError: If there is none; the message names the nearest one.
    """
    path = Path(name)
    if path.suffix == ".md" and path.exists():
        return read_task(path)
    files = task_files(root)
    if name in files:
        return read_task(files[name])
    known = list(files)
    for suite in () if root else generated_suites().values():
        if name in suite.ids():
            return suite.read(name)
        known += suite.ids()
    raise TaskError(f"no task {name!r}; {nearest(name, known)}. `interlock tasks list` shows all")
