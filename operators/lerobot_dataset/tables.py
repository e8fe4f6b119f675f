"""The parquet tables of one episode: its rows, its record, and the list of tasks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from interlock.operators.lerobot_dataset.layout import FILES_PER_CHUNK
from interlock.operators.lerobot_dataset.schema import EXTRA_COLUMNS, INDEX_COLUMNS
from interlock.operators.lerobot_dataset.stats import Stats, column_stats, plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from interlock.operators.lerobot_dataset.episode import Rows
    from interlock.operators.lerobot_dataset.schema import Schema

_ARROW = {"float32": pa.float32(), "int64": pa.int64(), "bool": pa.bool_()}


def data_columns(
    rows: Rows, schema: Schema, *, episode: int, first_index: int, task_index: int
) -> dict[str, np.ndarray]:
    """Return every column of an episode; vectors have shape (rows, width)."""
    count = rows.length
    frame = np.arange(count, dtype=np.int64)
    columns = {key: np.stack(rows.columns[key]) for key, _ in schema.vectors.values()}
    columns["action"] = np.stack(rows.columns["action"])
    for name, dtype in EXTRA_COLUMNS.items():
        columns[name] = np.asarray(rows.columns[name], dtype)
    return {
        **columns,
        # The format asks for this grid; the true times are in observed_ns.
        "timestamp": (frame / schema.fps).astype(np.float32),
        "frame_index": frame,
        "episode_index": np.full(count, episode, np.int64),
        "index": frame + first_index,
        "task_index": np.full(count, task_index, np.int64),
    }


def data_table(columns: Mapping[str, np.ndarray]) -> pa.Table:
    """Return the rows of an episode as LeRobot reads them."""
    arrays = {}
    for name, values in columns.items():
        if values.ndim == 1:
            dtype = (EXTRA_COLUMNS | INDEX_COLUMNS)[name]
            arrays[name] = pa.array(values, _ARROW[dtype])
        elif values.shape[1] == 1:
            arrays[name] = pa.array(values[:, 0], pa.float32())
        else:
            flat = pa.array(values.reshape(-1), pa.float32())
            arrays[name] = pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
    return pa.table(arrays)


def episode_stats(
    columns: Mapping[str, np.ndarray], images: Mapping[str, Stats]
) -> dict[str, Stats]:
    """Return the statistics of every column and camera of an episode."""
    return {name: column_stats(values) for name, values in columns.items()} | dict(images)


def episode_table(
    rows: Rows,
    schema: Schema,
    stats: Mapping[str, Stats],
    *,
    episode: int,
    first_index: int,
) -> pa.Table:
    """Return the record of an episode: where it is, its statistics, and how it went."""
    chunk, file = divmod(episode, FILES_PER_CHUNK)
    record: dict[str, Any] = {
        "episode_index": episode,
        "tasks": [rows.task],
        "length": rows.length,
        "data/chunk_index": chunk,
        "data/file_index": file,
        "dataset_from_index": first_index,
        "dataset_to_index": first_index + rows.length,
    }
    for camera in schema.cameras:
        place = f"videos/{camera.key}"
        record |= {
            f"{place}/chunk_index": chunk,
            f"{place}/file_index": file,
            f"{place}/from_timestamp": 0.0,
            f"{place}/to_timestamp": rows.length / schema.fps,
        }
    for name, values in stats.items():
        record |= {f"stats/{name}/{kind}": value for kind, value in plain(values).items()}
    record |= {"meta/episodes/chunk_index": chunk, "meta/episodes/file_index": file}
    record |= _outcome(rows, schema.fps)
    return pa.table({key: pa.array([value], _kind(value)) for key, value in record.items()})


def tasks_table(tasks: Sequence[str]) -> pa.Table:
    """Return the tasks; pandas reads the text back as the index, as LeRobot expects."""
    index = {
        "name": "task",
        "field_name": "task",
        "pandas_type": "unicode",
        "numpy_type": "object",
        "metadata": None,
    }
    column = {
        "name": "task_index",
        "field_name": "task_index",
        "pandas_type": "int64",
        "numpy_type": "int64",
        "metadata": None,
    }
    pandas = {
        "index_columns": ["task"],
        "column_indexes": [],
        "columns": [column, index],
        "creator": {"library": "pyarrow", "version": pa.__version__},
        "pandas_version": "2.2.0",
    }
    numbers = pa.array(range(len(tasks)), pa.int64())
    table = pa.table({"task_index": numbers, "task": pa.array(tasks, pa.string())})
    return table.replace_schema_metadata({b"pandas": json.dumps(pandas).encode()})


def timing(observed_ns: Sequence[int], fps: int) -> dict[str, int]:
    """Return how often an observation came twice, and how many the rate would have had more."""
    steps = np.diff(np.asarray(observed_ns, np.int64))
    missed = np.maximum(np.rint(steps * fps / 1e9).astype(np.int64) - 1, 0)
    return {"duplicates": int((steps <= 0).sum()), "drops": int(missed.sum())}


def _outcome(rows: Rows, fps: int) -> dict[str, Any]:
    outcome = rows.outcome
    success = outcome.get("success")
    counts = timing(rows.columns["observed_ns"], fps)
    return {
        "interlock/success": None if success is None else bool(success),
        "interlock/score": _number(outcome.get("score")),
        "interlock/total_reward": float(np.sum(rows.columns["next.reward"])),
        "interlock/seed": rows.seed,
        "interlock/duplicates": counts["duplicates"],
        "interlock/drops": counts["drops"],
        "interlock/refused": len(rows.verdicts),
    }


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _kind(value: Any) -> pa.DataType | None:
    """Return the type of a value that can be None, so that every file has one schema."""
    if isinstance(value, bool):
        return pa.bool_()
    if isinstance(value, int):
        return pa.int64()
    return pa.float64() if isinstance(value, float) else None
