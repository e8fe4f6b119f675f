"""Recorder node: what happens in a dataflow becomes a LeRobot v3 dataset, an episode per task.

Inputs:   state, image or image_<name> (one per camera), objects, request, grant, verdict, result,
          event (also request_left, ...), tick.
Outputs:  event.

It is a process of its own with a low priority, and nobody waits for it: control keeps its pace.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from interlock.messages import (
    Event,
    Grant,
    Image,
    ObjectPoses,
    Output,
    Result,
    RobotState,
    SettingsError,
    TaskRequest,
    Verdict,
)
from interlock.nodes._bridge_view import BridgeView
from interlock.nodes._node import Context, Node
from interlock.nodes._recording import Recording
from interlock.operators.lerobot_dataset import DatasetError, DatasetWriter, Destination, push

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from interlock.messages import Received

#: Messages kept from before the first picture.
_MOST_EARLY = 1000


class RecorderNode(Node):
    """Opens the dataset when it has seen the arm and a picture of every camera."""

    @dataclass(frozen=True, kw_only=True)
    class Settings:
        """What the dataflow may set.

        Attributes:
            record_dir: Folder of the datasets, relative to the dataflow; empty takes RECORD_DIR of
                the environment, else the folder of the run.
            dataset: Name of the dataset; one that exists is continued. Empty makes a new one.
            hf_repo: ``namespace/name`` that the dataset is pushed to at the end; empty takes
                HF_REPO of the environment, else nothing is pushed.
            hf_private: Whether a new repository is private.
            fps: Rows per second.
            episode: ``task``: an episode per task that the Gate grants; ``run``: one of everything.
            task: Task text of every episode; empty takes the name of the task.
            key_map: Dataset key by observation key, as JSON, e.g.
                ``{"observation/front": "observation.images.top"}``.
            image_max_age_ms: No row is made while a picture is older than this.
        """

        record_dir: str = ""
        dataset: str = ""
        hf_repo: str = ""
        hf_private: bool = True
        fps: int = 10
        episode: str = "task"
        task: str = ""
        key_map: str = "{}"
        image_max_age_ms: float = 500.0

    inputs: ClassVar = {
        "state": RobotState,
        "image": Image,
        "objects": ObjectPoses,
        "request": TaskRequest,
        "grant": Grant,
        "verdict": Verdict,
        "result": Result,
        "event": Event,
    }
    nice: ClassVar = 10
    outputs: ClassVar = {"event": Event}

    def __init__(self, settings: Settings, context: Context) -> None:
        super().__init__(settings, context)
        if settings.episode not in ("task", "run"):
            raise SettingsError(f"EPISODE {settings.episode!r}: expected task or run")
        if not 1 <= settings.fps <= 100:
            raise SettingsError(f"FPS {settings.fps}: expected 1 to 100 rows per second")
        self._key_map = _key_map(settings.key_map)
        self._view = BridgeView(context, image_max_age_ms=settings.image_max_age_ms)
        self._recording: Recording | None = None
        self._writer: DatasetWriter | None = None
        self._early: list[Any] = []
        self.folder = self._folder()

    def on_state(self, received: Received[RobotState], now_ns: int) -> Iterable[Output]:
        """Take in the robot's state and make a row when one is due."""
        self._view.on_state(received)
        if self._recording is None and self._view.complete:
            yield from self._open()
            yield from self._do(lambda _: None)
        recording = self._recording
        if recording is not None and recording.wants(received.stamp.observed_ns):
            sight = self._view.sight()
            if sight is not None:
                yield from self._do(lambda r: r.on_sight(sight))

    def on_image(self, received: Received[Image], now_ns: int) -> Iterable[Output]:
        """Keep the newest picture of each camera."""
        self._view.on_image(received)
        return ()

    def on_objects(self, received: Received[ObjectPoses], now_ns: int) -> Iterable[Output]:
        """Keep where objects are."""
        self._view.on_objects(received)
        return ()

    def on_request(self, received: Received[TaskRequest], now_ns: int) -> Iterable[Output]:
        """Remember what a task is called."""
        source = received.stamp.source
        return self._do(lambda r: r.on_request(received.message, source))

    def on_grant(self, received: Received[Grant], now_ns: int) -> Iterable[Output]:
        """Begin or end an episode."""
        return self._do(lambda r: r.on_grant(received.message, now_ns))

    def on_verdict(self, received: Received[Verdict], now_ns: int) -> Iterable[Output]:
        """Count what the Gate says."""
        return self._do(lambda r: r.on_verdict(received.message))

    def on_result(self, received: Received[Result], now_ns: int) -> Iterable[Output]:
        """End an episode with how it went."""
        source = received.stamp.source
        return self._do(lambda r: r.on_result(received.message, source))

    def on_event(self, received: Received[Event], now_ns: int) -> Iterable[Output]:
        """Take a reward, from whoever gives one: an Event with ``reward`` in its data."""
        try:
            reward = json.loads(received.message.data).get("reward")
        except (ValueError, AttributeError):
            return ()
        return self._do(lambda r: r.on_reward(float(reward))) if _number(reward) else ()

    def on_tick(self, now_ns: int) -> Iterable[Output]:
        """End an episode whose Result does not come."""
        return self._do(lambda r: r.tick(now_ns))

    def on_closed(self, input_id: str, reason: str, now_ns: int) -> Iterable[Output]:
        """Without states there is nothing to record; without its owner a task is over."""
        if input_id.startswith(("state", "grant")):
            return self._do(lambda r: r.end(success=None, reason=f"input {input_id} {reason}"))
        return ()

    def on_stop(self, now_ns: int) -> Iterable[Output]:
        """Finish the dataset, and push it if that was asked for."""
        if self._writer is None:
            return
        yield from self._do(lambda r: r.end(success=None, reason="the run ended"))
        try:
            self._writer.close()
            repository = self.settings.hf_repo or os.environ.get("HF_REPO")
            if repository and self._writer.catalog.episodes:
                url = push(self.folder, repository, private=self.settings.hf_private)
                yield _event("task", f"pushed to {url}")
        except DatasetError as error:
            self.failed = self.failed or str(error)

    def _open(self) -> Iterable[Output]:
        contract = self._view.contract(float(self.settings.fps))
        self._writer = DatasetWriter(self.folder, contract, key_map=self._key_map)
        self._recording = Recording(
            self._writer,
            period_ns=round(1e9 / self.settings.fps),
            whole=self.settings.episode == "run",
            task=self.settings.task,
            seed=self.context.seed,
        )
        yield _event("task", f"recording to {self.folder}", folder=str(self.folder))

    def _do(self, step: Any) -> Iterable[Output]:
        """Take a step; a recording that fails is told and dropped, and the next one may succeed."""
        recording = self._recording
        if recording is None:
            # A task may begin before the first picture is there.
            self._early = [*self._early, step][-_MOST_EARLY:]
            return
        steps, self._early = [*self._early, step], []
        try:
            for each in steps:
                each(recording)
        except DatasetError as error:
            recording.drop()
            yield _event("error", f"this episode is not recorded: {error}")
        told, recording.told = recording.told, []
        for line in told:
            yield _event("task", line)

    def _folder(self) -> Path:
        settings, context = self.settings, self.context
        told: str = settings.record_dir or os.environ.get("RECORD_DIR", "")
        parent = context.dataflow_dir / told if told else context.run_dir / "dataset"
        if settings.dataset:
            return parent / str(settings.dataset)
        if context.lockstep:
            return parent / f"panda_{context.run_id}_{context.seed}"
        return Destination(folder=parent).new_dataset(
            "panda", now_s=time.time(), tag=context.run_id[:8]
        )


def _key_map(text: str) -> dict[str, str]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise SettingsError(f"KEY_MAP is not JSON: {error}") from error
    if not isinstance(found, dict) or not all(isinstance(v, str) for v in found.values()):
        raise SettingsError("KEY_MAP: expected an object of observation keys to dataset keys")
    return found


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _event(kind: str, text: str, **data: Any) -> Output:
    return Output(output="event", message=Event(kind=kind, text=text, data=json.dumps(data)))


NODE = RecorderNode


def main() -> None:
    """Run under dora."""
    from interlock.nodes._dora import run

    run(NODE)


if __name__ == "__main__":
    main()
