"""Where the files of a LeRobot v3 dataset are, and how one is written so that it survives."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from interlock.messages.errors import InterlockError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa

VERSION = "v3.0"
FILES_PER_CHUNK = 1000
DATA_PATH = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
VIDEO_PATH = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
EPISODES_PATH = "meta/episodes/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"


class DatasetError(InterlockError):
    """A dataset that can't be written, read or continued."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Paths of a dataset; every episode has files of its own, so it is whole when it ends."""

    root: Path

    @property
    def info(self) -> Path:
        """Features, rate and totals."""
        return self.root / "meta/info.json"

    @property
    def stats(self) -> Path:
        """Statistics over all episodes."""
        return self.root / "meta/stats.json"

    @property
    def tasks(self) -> Path:
        """Task texts by number."""
        return self.root / "meta/tasks.parquet"

    @property
    def contract(self) -> Path:
        """The robot's contract and what was left out."""
        return self.root / "meta/interlock.json"

    @property
    def scratch(self) -> Path:
        """Videos of episodes that have not ended."""
        return self.root / ".recording"

    def data(self, episode: int) -> Path:
        """Return the rows of an episode."""
        return self._numbered(DATA_PATH, episode)

    def video(self, key: str, episode: int) -> Path:
        """Return the video of one camera of an episode."""
        return self._numbered(VIDEO_PATH, episode, video_key=key)

    def episode(self, episode: int) -> Path:
        """Return the record of an episode; it exists if and only if the episode is whole."""
        return self._numbered(EPISODES_PATH, episode)

    def extras(self, episode: int) -> Path:
        """Return the terminal observation and other facts LeRobot has no place for."""
        return self.root / f"interlock/episode-{episode:06d}.msgpack"

    def broken(self, episode: str) -> Path:
        """Return where the raw frames of a failed encoding are kept."""
        return self.root / "broken" / episode

    def _numbered(self, pattern: str, episode: int, **names: str) -> Path:
        chunk, file = divmod(episode, FILES_PER_CHUNK)
        return self.root / pattern.format(chunk_index=chunk, file_index=file, **names)


def write_durably(path: Path, write: Callable[[Path], None]) -> None:
    """Write a file beside its place, flush it to the disk, then put it there in one step.

    Raises:
        DatasetError: If the disk is full or the place can't be written.
    """
    temporary = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(temporary)
        flush(temporary)
        temporary.replace(path)
        flush(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise DatasetError(
            f"cannot write {path}: {error.strerror or error}; free space or check the path"
        ) from error


def write_json(path: Path, value: Any) -> None:
    """Write JSON durably."""
    text = json.dumps(value, indent=2)
    write_durably(path, lambda place: _write_text(place, text))


def write_table(path: Path, table: pa.Table) -> None:
    """Write parquet durably."""
    import pyarrow.parquet

    write_durably(path, lambda place: pyarrow.parquet.write_table(table, place))


def move_durably(source: Path, path: Path) -> None:
    """Flush a finished file and move it to its place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    flush(source)
    source.replace(path)
    flush(path.parent)


def flush(path: Path) -> None:
    """Force a file or folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        DatasetError: If it is missing or broken.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DatasetError(f"cannot read {path}: {error.strerror}; is this a dataset?") from error
    except ValueError as error:
        raise DatasetError(f"{path}: not JSON; `interlock dataset repair` rebuilds it") from error
    return dict(value)


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
