"""The totals of a dataset: info, tasks and statistics, rebuilt from the episodes when needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet

from interlock.messages.contract import Contract
from interlock.operators.lerobot_dataset.layout import (
    DatasetError,
    Layout,
    read_json,
    write_json,
    write_table,
)
from interlock.operators.lerobot_dataset.schema import schema_of
from interlock.operators.lerobot_dataset.stats import Stats, join_stats, plain
from interlock.operators.lerobot_dataset.tables import tasks_table

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from interlock.operators.lerobot_dataset.schema import Schema


class Catalog:
    """Counts episodes, frames and tasks of a dataset that grows.

    Raises:
        DatasetError: If the folder holds a dataset with other features.
    """

    def __init__(self, layout: Layout, schema: Schema, *, check: bool = True) -> None:
        self._layout = layout
        self._schema = schema
        self.episodes = 0
        self.frames = 0
        self.tasks: list[str] = []
        self._stats: dict[str, Stats] = {}
        self.mended: list[str] = []
        if layout.info.exists() or not check:
            self._resume(check=check)
        else:
            self._write()

    def task_index(self, task: str) -> int:
        """Return the number of a task; a new one is on the disk when it returns."""
        if task not in self.tasks:
            self.tasks.append(task)
            write_table(self._layout.tasks, tasks_table(self.tasks))
        return self.tasks.index(task)

    def add(self, length: int, stats: Mapping[str, Stats]) -> None:
        """Count one more episode."""
        self.episodes += 1
        self.frames += length
        for name, part in stats.items():
            before = self._stats.get(name)
            self._stats[name] = part if before is None else join_stats([before, part])
        self._write()

    def _write(self) -> None:
        write_json(self._layout.stats, {name: plain(part) for name, part in self._stats.items()})
        if not self._layout.tasks.exists():
            write_table(self._layout.tasks, tasks_table(self.tasks))
        info = self._schema.info(episodes=self.episodes, frames=self.frames, tasks=len(self.tasks))
        write_json(self._layout.info, info)

    def _resume(self, *, check: bool) -> None:
        info = read_json(self._layout.info) if check else {}
        mine = self._schema.info(episodes=0, frames=0, tasks=0)
        for key in ("codebase_version", "fps", "features"):
            if check and info.get(key) != mine[key]:
                raise DatasetError(
                    f"{self._layout.root} holds a dataset with another {key}; use another folder"
                )
        self.mended = rebuild(self._layout, self)

    def restore(self, records: list[dict[str, Any]], tasks: list[str]) -> None:
        """Take totals and statistics from the records of the episodes."""
        self.tasks = tasks
        self.episodes = len(records)
        self.frames = sum(record["length"] for record in records)
        per_episode = [stats_of(record) for record in records]
        names = per_episode[0] if per_episode else {}
        self._stats = {
            name: join_stats([part[name] for part in per_episode if name in part]) for name in names
        }
        self._write()


def rebuild(layout: Layout, catalog: Catalog) -> list[str]:
    """Make totals, tasks and statistics agree with the episodes that are whole.

    Files of an episode without a record are deleted: the process died while writing them.

    Returns:
        What was mended, one line each.
    """
    records = records_of(layout)
    mended = remove_orphans(layout, len(records))
    tasks = read_tasks(layout)
    for record in records:
        for task in record["tasks"]:
            if task not in tasks:
                tasks.append(task)
                mended.append(f"task {task!r} was missing from the list")
    before = _claimed_episodes(layout)
    if before != len(records):
        mended.append(f"info.json said {before} episodes, there are {len(records)}")
    write_table(layout.tasks, tasks_table(tasks))
    catalog.restore(records, tasks)
    return mended


def repair(root: Path) -> list[str]:
    """Make a dataset agree with the episodes that are whole.

    Returns:
        What was mended, one line each.

    Raises:
        DatasetError: If this is not a dataset that we recorded.
    """
    layout = Layout(root)
    about = read_json(layout.contract)
    contract = Contract.from_json(about["contract"], where=str(layout.contract))
    schema = schema_of(contract, key_map=about.get("key_map"))
    return Catalog(layout, schema, check=False).mended


def _claimed_episodes(layout: Layout) -> object:
    try:
        return read_json(layout.info).get("total_episodes")
    except DatasetError:
        return "nothing"


def records_of(layout: Layout) -> list[dict[str, Any]]:
    """Return the records of the episodes, from 0 up to the first that is missing."""
    records: list[dict[str, Any]] = []
    while (path := layout.episode(len(records))).exists():
        try:
            records.append(pyarrow.parquet.read_table(path).to_pylist()[0])
        except (OSError, ValueError, IndexError) as error:
            raise DatasetError(f"{path}: not a readable record ({error})") from error
    return records


def remove_orphans(layout: Layout, episodes: int) -> list[str]:
    """Delete files of episodes that have no record."""
    known = {layout.data(i) for i in range(episodes)} | {layout.extras(i) for i in range(episodes)}
    removed = []
    for path in _files(layout, ("data", "videos", "interlock", "meta")):
        number = _number(path)
        part = path.name.startswith(".") and path.name.endswith(".part")
        late = path.suffix in (".parquet", ".mp4", ".msgpack") and number is not None
        if part or (late and path not in known and (number or 0) >= episodes):
            path.unlink()
            removed.append(
                f"removed {path.relative_to(layout.root)}, left by an unfinished episode"
            )
    return removed


def read_tasks(layout: Layout) -> list[str]:
    """Return the tasks in the order of their numbers."""
    if not layout.tasks.exists():
        return []
    rows = pyarrow.parquet.read_table(layout.tasks).to_pylist()
    return [row["task"] for row in sorted(rows, key=lambda row: row["task_index"])]


def stats_of(record: Mapping[str, Any]) -> dict[str, Stats]:
    """Return the statistics in the record of an episode."""
    found: dict[str, Stats] = {}
    for key, value in record.items():
        if key.startswith("stats/"):
            name, _, kind = key.removeprefix("stats/").rpartition("/")
            found.setdefault(name, {})[kind] = np.asarray(value, np.float64)
    return found


def _files(layout: Layout, folders: tuple[str, ...]) -> list[Path]:
    return [
        path
        for name in folders
        for path in sorted((layout.root / name).rglob("*"))
        if path.is_file()
    ]


def _number(path: Path) -> int | None:
    """Return the episode a file belongs to, from its name and the name of its chunk."""
    stem = path.stem
    if stem.startswith("episode-") and stem[8:].isdigit():
        return int(stem[8:])
    chunk = path.parent.name
    if stem.startswith("file-") and stem[5:].isdigit() and chunk.startswith("chunk-"):
        return int(chunk[6:]) * 1000 + int(stem[5:])
    return None
