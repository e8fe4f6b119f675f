"""One episode under way: rows in memory, frames straight to the encoder."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.operators.lerobot_dataset.layout import DatasetError
from interlock.operators.lerobot_dataset.schema import ADMITTED, CLIPPED, REFUSED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from interlock.operators.lerobot_dataset.video import VideoFile
    from interlock.operators.lerobot_dataset.writer import DatasetWriter


@dataclass(slots=True, kw_only=True)
class Rows:
    """What an episode holds besides its frames.

    Attributes:
        task: The task in words.
        seed: Seed of the reset, if there was one.
        columns: Values by dataset key, one per step.
        terminal: The last observation, which no action followed.
        outcome: Success, score, total reward and whatever else graded the episode.
        verdicts: Verdicts that were no plain admission, by step.
    """

    task: str
    seed: int | None = None
    columns: defaultdict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    terminal: Mapping[str, Any] | None = None
    outcome: dict[str, Any] = field(default_factory=dict)
    verdicts: dict[int, Any] = field(default_factory=dict)

    @property
    def length(self) -> int:
        """Steps so far."""
        return len(self.columns.get("action", ()))


class EpisodeRecorder:
    """Takes one episode; every call returns at once, the writer's thread does the work."""

    def __init__(self, writer: DatasetWriter, rows: Rows, videos: Mapping[str, VideoFile]) -> None:
        self._writer = writer
        self._rows = rows
        self._videos = videos
        self._ended = False

    def add(
        self,
        data: Mapping[str, Any],
        action: NDArray[np.float32],
        *,
        observed_ns: int | None = None,
        reward: float | None = None,
        terminated: bool = False,
        success: bool = False,
        verdict: Mapping[str, Any] | None = None,
    ) -> None:
        """Take one observation and the action it led to.

        Args:
            data: Features by their key in the contract.
            action: The action that was sent, shape (width,).
            observed_ns: When the world was like this; None takes the grid of the rate.
            reward: Reward of the step.
            terminated: Whether the step ended the episode.
            success: Whether the task was done after it.
            verdict: What the Gate said about the action.

        Raises:
            DatasetError: Something is missing, or an earlier frame could not be encoded.
        """
        self._check_open()
        step = self._rows.length
        self._add_vectors(data, action)
        grid_ns = step * 1_000_000_000 // self._writer.schema.fps
        facts = {
            "next.reward": reward or 0.0,
            "next.done": terminated,
            "next.success": success,
            "observed_ns": grid_ns if observed_ns is None else observed_ns,
            "verdict": self._verdict(step, verdict),
        }
        for key, value in facts.items():
            self._rows.columns[key].append(value)
        self._add_images(data)

    def _check_open(self) -> None:
        self._writer.raise_fault()
        if self._ended:
            raise DatasetError("this episode has ended; start another")

    def _verdict(self, step: int, verdict: Mapping[str, Any] | None) -> int:
        code = _verdict_code(verdict)
        if code != ADMITTED:
            self._rows.verdicts[step] = dict(verdict or {})
        return code

    def _add_vectors(self, data: Mapping[str, Any], action: NDArray[np.float32]) -> None:
        schema, columns = self._writer.schema, self._rows.columns
        for wire, (key, width) in schema.vectors.items():
            columns[key].append(_vector(data, wire, width))
        row = np.array(action, np.float32).reshape(schema.action_width)
        columns["action"].append(row)

    def _add_images(self, data: Mapping[str, Any]) -> None:
        for camera in self._writer.schema.cameras:
            if camera.wire not in data:
                raise DatasetError(f"the observation has no {camera.wire!r}")
            self._writer.encode(self._videos[camera.key], _held(data[camera.wire]), camera)

    def end(self, terminal: Mapping[str, Any] | None = None, **outcome: Any) -> None:
        """End the episode; it is durable once the writer's thread has committed it.

        Args:
            terminal: The last observation.
            outcome: ``success``, ``score``, ``total_reward`` and whatever else is known.
        """
        if self._ended:
            return
        self._ended = True
        self._rows.terminal = terminal
        self._rows.outcome.update(outcome)
        if "success" in outcome and self._rows.length:
            self._rows.columns["next.success"][-1] = bool(outcome["success"])
        self._writer.commit(self._rows, self._videos)

    def abort(self) -> None:
        """Drop the episode."""
        if not self._ended:
            self._ended = True
            self._writer.drop(self._videos)


def _vector(data: Mapping[str, Any], wire: str, width: int) -> NDArray[np.float32]:
    if wire not in data:
        raise DatasetError(f"the observation has no {wire!r}")
    vector = np.array(data[wire], np.float32).reshape(-1)
    if vector.size != width:
        raise DatasetError(f"{wire}: {vector.size} numbers, the contract says {width}")
    return vector


def _held(image: Any) -> NDArray[Any]:
    """Return an image that nobody changes later; views on received frames already are."""
    array = np.asarray(image)
    return array.copy() if array.flags.writeable else array


def _verdict_code(verdict: Mapping[str, Any] | None) -> int:
    if verdict is None or (verdict.get("admitted") and not verdict.get("codes")):
        return ADMITTED
    return CLIPPED if verdict.get("admitted") else REFUSED
