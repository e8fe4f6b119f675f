"""Record episodes as a LeRobot v3 dataset while the robot runs.

Calls return at once; one thread encodes and commits. Every episode is a file set of its own,
flushed to the disk, and its record in ``meta/episodes`` is written last: an episode that has a
record is whole, whatever happens to the process.
"""

from __future__ import annotations

import logging
import os
import queue
import shutil
import sys
import threading
import uuid
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.messages.arrays_msgpack import pack
from interlock.operators.lerobot_dataset.catalog import Catalog
from interlock.operators.lerobot_dataset.episode import EpisodeRecorder, Rows
from interlock.operators.lerobot_dataset.layout import (
    DatasetError,
    Layout,
    move_durably,
    write_durably,
    write_json,
    write_table,
)
from interlock.operators.lerobot_dataset.schema import Camera, Schema, as_rgb, schema_of
from interlock.operators.lerobot_dataset.tables import (
    data_columns,
    data_table,
    episode_stats,
    episode_table,
)
from interlock.operators.lerobot_dataset.video import VideoFile

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from numpy.typing import NDArray

    from interlock.messages.contract import Contract

#: Frames waiting for the encoder before a recording is given up rather than filling memory.
MAX_WAITING_BYTES = 2 * 2**30
_log = logging.getLogger(__name__)


class DatasetWriter:
    """Writes one dataset; opening one that exists continues it.

    Args:
        root: Folder of the dataset.
        contract: The robot.
        key_map: Dataset key by observation key, where the usual one does not fit.

    Raises:
        DatasetError: If the folder holds another robot's dataset, or can't be written.
    """

    def __init__(
        self, root: Path, contract: Contract, *, key_map: Mapping[str, str] | None = None
    ) -> None:
        self.layout = Layout(root)
        self.schema: Schema = schema_of(contract, key_map=key_map)
        self.catalog = Catalog(self.layout, self.schema)
        self._fault: DatasetError | None = None
        self._jobs: queue.SimpleQueue[tuple[Callable[..., None], tuple[Any, ...]] | None] = (
            queue.SimpleQueue()
        )
        self._waiting_bytes = 0
        self._lock = threading.Lock()
        shutil.rmtree(self.layout.scratch, ignore_errors=True)
        about = {
            "contract": contract.to_json(),
            "key_map": dict(key_map or {}),
            "left_out": dict(self.schema.left_out),
        }
        write_json(self.layout.contract, about)
        for name, reason in self.schema.left_out.items():
            _log.warning("%s is not recorded: %s", name, reason)
        self._thread = threading.Thread(target=self._work, name="dataset", daemon=True)
        self._thread.start()

    def episode(self, task: str, *, seed: int | None = None) -> EpisodeRecorder:
        """Start an episode; several may run at once."""
        self.raise_fault()
        name = uuid.uuid4().hex[:12]
        videos = {
            camera.key: VideoFile(
                self.layout.scratch / name / f"{camera.key}.mp4",
                fps=self.schema.fps,
                kept=self.layout.broken(name) / camera.key,
            )
            for camera in self.schema.cameras
        }
        return EpisodeRecorder(self, Rows(task=task, seed=seed), videos)

    def encode(self, video: VideoFile, image: NDArray[Any], camera: Camera) -> None:
        """Pass a frame to the encoder.

        Raises:
            DatasetError: If the encoder is so far behind that memory would fill up.
        """
        with self._lock:
            self._waiting_bytes += image.nbytes
            if self._waiting_bytes > MAX_WAITING_BYTES:
                self._fault = DatasetError(
                    f"{self._waiting_bytes >> 20} MiB of frames wait for the encoder, limit "
                    f"{MAX_WAITING_BYTES >> 20} MiB; record fewer cameras or a lower rate"
                )
        self.raise_fault()
        self._jobs.put((self._encode, (video, image, camera)))

    def commit(self, rows: Rows, videos: Mapping[str, VideoFile]) -> None:
        """Make an episode durable, after its frames."""
        self._jobs.put((self._commit, (rows, videos)))

    def drop(self, videos: Mapping[str, VideoFile]) -> None:
        """Delete what an aborted episode left."""
        self._jobs.put((self._drop, (videos,)))

    def raise_fault(self) -> None:
        """Raise what went wrong on the writer's thread, once."""
        fault, self._fault = self._fault, None
        if fault is not None:
            raise fault

    def wait(self) -> None:
        """Return when everything that was asked for is on the disk.

        Raises:
            DatasetError: If it could not be put there.
        """
        done = threading.Event()
        self._jobs.put((done.set, ()))
        done.wait()
        self.raise_fault()

    def close(self) -> None:
        """Finish what was asked for and end the thread.

        Raises:
            DatasetError: If an episode could not be written.
        """
        self._jobs.put(None)
        self._thread.join()
        shutil.rmtree(self.layout.scratch, ignore_errors=True)
        self.raise_fault()

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()

    def _work(self) -> None:
        _yield_to_control()
        while (job := self._jobs.get()) is not None:
            function, args = job
            try:
                function(*args)
            except DatasetError as error:
                self._fault = error
            except Exception as error:
                _log.exception("recording failed")
                self._fault = DatasetError(f"recording failed: {type(error).__name__}: {error}")

    def _encode(self, video: VideoFile, image: NDArray[Any], camera: Camera) -> None:
        failed_before = video.error is not None
        video.add(as_rgb(image, camera.feature))
        with self._lock:
            self._waiting_bytes -= image.nbytes
        if video.error is not None and not failed_before:
            raise DatasetError(f"{camera.key}: encoding failed ({video.error}); see `broken`")

    def _drop(self, videos: Mapping[str, VideoFile]) -> None:
        for video in videos.values():
            video.drop()

    def _commit(self, rows: Rows, videos: Mapping[str, VideoFile]) -> None:
        if not rows.length:
            self._drop(videos)
            return
        for video in videos.values():
            video.close()
            if video.frames != rows.length:
                raise DatasetError(f"{video.path.name}: {video.frames} frames, {rows.length} rows")
        episode, first = self.catalog.episodes, self.catalog.frames
        task = self.catalog.task_index(rows.task)
        columns = data_columns(
            rows, self.schema, episode=episode, first_index=first, task_index=task
        )
        images = {key: video.stats.result() for key, video in videos.items()}
        stats = episode_stats(columns, images)
        write_table(self.layout.data(episode), data_table(columns))
        for key, video in videos.items():
            move_durably(video.path, self.layout.video(key, episode))
        self._write_extras(episode, rows)
        record = episode_table(rows, self.schema, stats, episode=episode, first_index=first)
        write_table(self.layout.episode(episode), record)
        self.catalog.add(rows.length, stats)

    def _write_extras(self, episode: int, rows: Rows) -> None:
        extras = {
            "terminal": dict(rows.terminal or {}),
            "outcome": _packable(rows.outcome),
            "verdicts": {str(step): dict(v) for step, v in rows.verdicts.items()},
        }
        frame = pack(extras)
        write_durably(self.layout.extras(episode), lambda place: _write_bytes(place, frame))


def _yield_to_control() -> None:
    """Let the control loop have the processor first; on Linux a priority is a thread's own."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)


def _packable(value: Mapping[str, Any]) -> dict[str, Any]:
    plain = (bool, int, float, str, np.ndarray, np.generic, list, dict, type(None))
    return {key: v if isinstance(v, plain) else str(v) for key, v in value.items()}


def _write_bytes(path: Path, data: bytes) -> None:
    path.write_bytes(data)
