"""The dora event loop of a node, driven by a list of events instead of a daemon."""

import datetime
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest

from interlock.messages import (
    Event,
    Image,
    Output,
    Received,
    RobotState,
    SettingsError,
    Stamp,
    encode,
)
from interlock.nodes._dora import CLOSE_DELAY_NS, Loop
from interlock.nodes._node import Node

NOW = datetime.datetime(2026, 11, 30, tzinfo=datetime.UTC)
SILENCE = {"type": "ERROR", "error": "Timeout event stream error"}


class Echo(Node):
    """Answers every event with one that rests on it."""

    @dataclass(frozen=True, kw_only=True)
    class Settings:
        """One setting."""

        factor: float = 1.0

    inputs: ClassVar = {"event": Event, "image": Image}
    outputs: ClassVar = {"echo": Event}

    def __init__(self, settings: Any, context: Any) -> None:
        super().__init__(settings, context)
        self.seen: list[Any] = []
        self.ticks = 0

    def on_event(self, received: Received[Event], now_ns: int) -> Iterable[Output]:
        self.seen.append(received)
        if received.message.text == "raise":
            raise ZeroDivisionError("a bug")
        echo = Event(kind="task", text=f"heard {received.message.text}")
        return [Output(output="echo", message=echo, basis=(received.basis,))]

    def on_image(self, received: Received[Image], now_ns: int) -> Iterable[Output]:
        self.seen.append(received)
        return ()

    def on_tick(self, now_ns: int) -> Iterable[Output]:
        self.ticks += 1
        if self.ticks == 3:
            self.finished = "ticked three times"
        return ()

    def on_closed(self, input_id: str, reason: str, now_ns: int) -> Iterable[Output]:
        self.seen.append((input_id, reason))
        return ()


class FakeDora:
    """Plays a list of events; after them it ticks, so that time passes."""

    def __init__(self, events: list[dict[str, Any]], env: dict[str, Any] | None = None) -> None:
        self.events = events
        self.env = env or {}
        self.sent: list[tuple[str, pa.Array, dict[str, Any]]] = []
        self.logged: list[str] = []

    def next(self, timeout: float) -> dict[str, Any] | None:
        return self.events.pop(0) if self.events else {"type": "INPUT", "id": "tick"}

    def send_output(self, output: str, payload: pa.Array, metadata: dict[str, Any]) -> None:
        self.sent.append((output, payload, metadata))

    def log(self, level: str, text: str) -> None:
        self.logged.append(f"{level}: {text}")

    def node_config(self) -> dict[str, Any]:
        inputs = {"event": "source/event", "image": "cam/image", "tick": "dora/timer/millis/100"}
        return {"inputs": inputs, "outputs": ["echo"]}

    def dataflow_descriptor(self) -> dict[str, Any]:
        return {"nodes": [{"id": "echo", "env": self.env}]}

    def dataflow_id(self) -> str:
        return "run-1"

    def timestamp(self) -> datetime.datetime:
        return NOW + datetime.timedelta(milliseconds=30)


def event(text: str, seq: int = 0) -> dict[str, Any]:
    """An Event as dora delivers it."""
    payload, metadata = encode(Event(kind="task", text=text))
    stamp = Stamp(source="source", seq=seq, observed_ns=5, sent_ns=6)
    return {
        "type": "INPUT",
        "id": "event",
        "value": payload,
        "metadata": metadata | stamp.to_metadata() | {"timestamp": NOW},
    }


def ran(folder: Path, *events: dict[str, Any], **env: Any) -> tuple[int, FakeDora, Any]:
    """Run the node on the events; return exit code, dora and node."""
    dora = FakeDora(list(events), env)
    environ = {"DORA_NODE_CONFIG": "node_id: echo", "INTERLOCK_RUN_DIR": str(folder)}
    loop = Loop(Echo, dora, environ | {k: str(v) for k, v in env.items()})
    return loop.run(), dora, loop._node


def lines(folder: Path) -> list[dict[str, Any]]:
    """What the node left in the run folder."""
    text = (folder / "events" / "echo.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def test_an_answer_carries_source_number_and_what_it_rests_on(tmp_path: Path) -> None:
    _, dora, _ = ran(tmp_path, event("a", 7), event("b", 8))
    stamps = [Stamp.from_metadata(metadata, where="x") for _, _, metadata in dora.sent]
    assert [(s.source, s.seq, s.observed_ns) for s in stamps] == [("echo", 0, 5), ("echo", 1, 5)]
    assert [(b.source, b.output, b.seq) for b in stamps[1].basis] == [("source", "event", 8)]


def test_a_node_that_is_done_ends_with_code_0_and_says_why(tmp_path: Path) -> None:
    code, _, _ = ran(tmp_path, event("a"))
    assert code == 0
    told, ended = lines(tmp_path)
    assert (told["text"], ended["status"], ended["reason"]) == (
        "heard a",
        "finished",
        "ticked three times",
    )
    assert not (tmp_path / "alive" / "echo").exists()


def test_stop_ends_the_node_after_what_was_already_on_its_way(tmp_path: Path) -> None:
    code, dora, _ = ran(tmp_path, {"type": "STOP", "id": "MANUAL"}, event("late"))
    assert code == 0
    assert len(dora.sent) == 1


def test_a_dead_daemon_ends_the_node_with_a_reason(tmp_path: Path) -> None:
    code, _, node = ran(tmp_path, dict(SILENCE), dict(SILENCE))
    assert code == 1
    assert node.failed.startswith("the dora daemon is gone: no event for 1.5 s")


def test_one_silence_is_no_dead_daemon(tmp_path: Path) -> None:
    tick = {"type": "INPUT", "id": "tick"}
    assert ran(tmp_path, dict(SILENCE), tick, dict(SILENCE))[0] == 0


def test_a_malformed_message_is_dropped_and_told(tmp_path: Path) -> None:
    broken = event("x")
    broken["metadata"]["seq"] = "seven"
    foreign = event("x") | {"value": pa.array([1.0])}
    code, dora, node = ran(tmp_path, broken, foreign, event("good"))
    assert (code, len(node.seen)) == (0, 1)
    assert "source/event: stamp field 'seq': expected int, got str" in dora.logged[0]
    assert "source/event: Event: expected a struct of one row" in dora.logged[1]


def test_a_message_of_another_type_is_dropped_by_name(tmp_path: Path) -> None:
    n = np.zeros(7)
    states = ("position", "velocity", "commanded_position", "commanded_velocity")
    vectors = dict.fromkeys([*states, "commanded_acceleration", "world_from_tool"], n)
    numbers = dict.fromkeys(
        ("gripper_width_m", "gripper_target_m", "gripper_force_n", "tool_speed_mps"), 0.0
    )
    payload, metadata = encode(RobotState(**vectors, **numbers, at_rest=True))
    wrong = event("x")
    wrong["value"], wrong["metadata"] = payload, wrong["metadata"] | metadata
    _, dora, node = ran(tmp_path, wrong)
    assert node.seen == []
    assert "source/event -> echo/event: expected Event, got RobotState" in dora.logged[0]


def test_a_picture_without_our_stamp_is_stamped_with_doras_time(tmp_path: Path) -> None:
    foreign = {
        "type": "INPUT",
        "id": "image",
        "value": pa.array(np.zeros(12, np.uint8)),
        "metadata": {"encoding": "rgb8", "width": 2, "height": 2, "timestamp": NOW},
    }
    _, _, node = ran(tmp_path, foreign, dict(foreign))
    first, second = node.seen
    assert (first.stamp.source, first.stamp.seq, second.stamp.seq) == ("cam", 0, 1)
    assert 30e6 <= first.received_ns - first.stamp.sent_ns < 31e6


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        ([], "ended"),
        (
            [
                {
                    "type": "NODE_FAILED",
                    "value": {"source_node_id": "source", "error": "exited with code 3\ntrace"},
                }
            ],
            "died: exited with code 3",
        ),
    ],
)
def test_a_closed_input_is_told_once_the_late_messages_are_in(
    tmp_path: Path, failure: list[dict[str, Any]], reason: str
) -> None:
    closed = {"type": "INPUT_CLOSED", "id": "event"}
    environ = {"DORA_NODE_CONFIG": "node_id: echo", "INTERLOCK_RUN_DIR": str(tmp_path)}
    dora = FakeDora([closed, *failure, event("late")])
    loop = Loop(Echo, dora, environ)
    loop._closing = []
    for item in list(dora.events):
        loop._handle(item | {"received_ns": 0})
    loop._close_due()
    assert [s.message.text for s in loop._node.seen] == ["late"]
    loop._closing = [(due - CLOSE_DELAY_NS, name) for due, name in loop._closing]
    loop._close_due()
    assert loop._node.seen[-1] == ("event", reason)


def test_a_bug_in_a_node_is_one_line_with_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, _ = ran(tmp_path, event("raise"))
    assert code == 1
    assert lines(tmp_path)[-1]["reason"] == "ZeroDivisionError: a bug"
    assert "Traceback" in capsys.readouterr().err


def test_settings_come_from_the_environment_and_unknown_ones_are_refused(tmp_path: Path) -> None:
    assert ran(tmp_path, FACTOR=2.5)[2].settings.factor == 2.5
    with pytest.raises(SettingsError, match="node echo: env: unknown setting 'FAKTOR'; did you"):
        ran(tmp_path, FAKTOR=2.5)
    with pytest.raises(SettingsError, match="factor: expected a number, got str 'fast'"):
        ran(tmp_path, FACTOR="fast")


def test_parameters_from_outside_change_nothing(tmp_path: Path) -> None:
    update = {"type": "PARAM_UPDATE", "id": "factor", "value": 9.0}
    _, dora, node = ran(tmp_path, update)
    assert node.settings.factor == 1.0
    assert "ignored dora event PARAM_UPDATE" in dora.logged[0]
