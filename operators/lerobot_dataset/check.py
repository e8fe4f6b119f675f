"""Check a LeRobot v3 dataset: does it hold what it says, file by file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet

from interlock.operators.lerobot_dataset.catalog import read_tasks, records_of
from interlock.operators.lerobot_dataset.layout import VERSION, DatasetError, Layout, read_json
from interlock.operators.lerobot_dataset.video import count_frames

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

#: LeRobot's default tolerance between a row's timestamp and the grid, in s.
TOLERANCE_S = 1e-4


def problems_of(root: Path) -> list[str]:
    """Return everything that is wrong with a dataset, one line each; nothing if it is sound."""
    layout = Layout(root)
    try:
        info = read_json(layout.info)
        records = records_of(layout)
    except DatasetError as error:
        return [str(error)]
    problems = _totals(layout, info, records)
    for record in records:
        problems += _episode(layout, info, record)
    return problems


def _totals(layout: Layout, info: dict[str, Any], records: list[dict[str, Any]]) -> list[str]:
    problems = []
    if info.get("codebase_version") != VERSION:
        problems.append(
            f"info.json: version {info.get('codebase_version')!r}, expected {VERSION!r}"
        )
    frames = sum(record["length"] for record in records)
    for key, there in (("total_episodes", len(records)), ("total_frames", frames)):
        if info.get(key) != there:
            problems.append(f"info.json: {key} is {info.get(key)}, there are {there}")
    tasks = read_tasks(layout)
    unknown = {task for record in records for task in record["tasks"] if task not in tasks}
    problems += [f"tasks.parquet: task {task!r} is missing" for task in sorted(unknown)]
    if records:
        stats = read_json(layout.stats) if layout.stats.exists() else {}
        lacking = [name for name in info["features"] if name not in stats]
        problems += [f"stats.json: no statistics of {name}" for name in lacking]
    return problems


def _episode(layout: Layout, info: dict[str, Any], record: dict[str, Any]) -> list[str]:
    episode, length = record["episode_index"], record["length"]
    where = f"episode {episode}"
    try:
        table = pyarrow.parquet.read_table(layout.data(episode))
    except (OSError, ValueError) as error:
        return [f"{where}: rows can't be read ({error})"]
    problems = []
    if table.num_rows != length:
        problems.append(f"{where}: {table.num_rows} rows, its record says {length}")
    else:
        problems += _columns(table, info, record, where)
    for key, feature in info["features"].items():
        if feature["dtype"] != "video":
            continue
        try:
            frames = count_frames(layout.video(key, episode))
        except DatasetError as error:
            problems.append(f"{where}: {error}")
            continue
        if frames != length:
            problems.append(f"{where}: {key} has {frames} frames, {length} rows")
    return problems


def _columns(
    table: pa.Table, info: dict[str, Any], record: dict[str, Any], where: str
) -> list[str]:
    problems = [
        f"{where}: column {name} is missing"
        for name, feature in info["features"].items()
        if feature["dtype"] != "video" and name not in table.column_names
    ]
    if problems:
        return problems
    grid = np.arange(table.num_rows) / info["fps"]
    off = np.abs(table["timestamp"].to_numpy() - grid)
    if table.num_rows and off.max() > max(TOLERANCE_S, 1e-6 * grid[-1]):
        problems.append(f"{where}: timestamps are up to {off.max():.4f} s off the grid")
    index = table["index"].to_numpy()
    if (index != np.arange(table.num_rows) + record["dataset_from_index"]).any():
        problems.append(f"{where}: index does not start at {record['dataset_from_index']}")
    return problems


def summary_of(root: Path) -> dict[str, Any]:
    """Return what a dataset holds.

    Raises:
        DatasetError: If it can't be read.
    """
    layout = Layout(root)
    info, records = read_json(layout.info), records_of(layout)
    graded = [r["interlock/success"] for r in records if r.get("interlock/success") is not None]
    return {
        "robot_type": info.get("robot_type"),
        "fps": info["fps"],
        "episodes": len(records),
        "frames": sum(record["length"] for record in records),
        "tasks": read_tasks(layout),
        "cameras": [k for k, f in info["features"].items() if f["dtype"] == "video"],
        "successes": sum(graded),
        "graded": len(graded),
        "drops": sum(record.get("interlock/drops") or 0 for record in records),
        "duplicates": sum(record.get("interlock/duplicates") or 0 for record in records),
        "bytes": sum(p.stat().st_size for p in root.rglob("*") if p.is_file()),
    }
