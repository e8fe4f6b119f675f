"""The lockstep executor: order, thinking time, ends, and the same run twice."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interlock.messages import InterlockError, SettingsError
from interlock.nodes._lockstep import Lockstep, timer_period_ns

NODES = """
from dataclasses import dataclass
from interlock.messages import Command, Event, Output
from interlock.nodes._node import Node

class Source(Node):
    outputs = {"beat": Event}
    count = 0
    def on_tick(self, now_ns):
        self.count += 1
        yield Output(output="beat", message=Event(kind="task", text=str(self.count)))
        if self.count == 5:
            self.finished = "counted to five"

class Thinker(Node):
    inputs = {"beat": Event}
    outputs = {"command": Command}
    def __init__(self, settings, context):
        super().__init__(settings, context)
        self.heard = []
        self.closed = ""
    def on_beat(self, received, now_ns):
        self.heard.append((received.message.text, now_ns))
        hold = Command(task="t", space="hold")
        yield Output(output="command", message=hold, basis=(received.basis,))
    def on_closed(self, input_id, reason, now_ns):
        self.closed = f"{input_id} {reason}"
        return ()

class Sink(Node):
    inputs = {"*": object}
    def __init__(self, settings, context):
        super().__init__(settings, context)
        self.got = []
    def on_message(self, input_id, received, now_ns):
        self.got.append((input_id, received.stamp.seq, received.stamp.sent_ns, now_ns))
        return ()
"""


def dataflow(folder: Path, thinking: Any = 0) -> dict[str, Any]:
    """Source -> thinker -> sink, each in a file of its own."""
    for name in ("Source", "Thinker", "Sink"):
        (folder / f"{name.lower()}_node.py").write_text(f"{NODES}\nNODE = {name}\n")
    tick = "dora/timer/millis/10"
    return {
        "nodes": [
            {
                "id": "source",
                "path": "source_node.py",
                "inputs": {"tick": tick},
                "outputs": ["beat"],
            },
            {
                "id": "thinker",
                "path": "thinker_node.py",
                "inputs": {"beat": {"source": "source/beat", "queue_size": 1}, "tick": tick},
                "outputs": ["command"],
                "env": {"LOCKSTEP_THINKING_MS": thinking},
            },
            {
                "id": "sink",
                "path": "sink_node.py",
                "inputs": {"beat": "source/beat", "command": "thinker/command"},
            },
        ]
    }


def ran(folder: Path, thinking: Any = 0, seed: int = 0) -> Lockstep:
    """The dataflow, run to its end."""
    lockstep = Lockstep(
        dataflow(folder, thinking), dataflow_dir=folder, run_dir=folder / "run", seed=seed
    )
    lockstep.start()
    lockstep.run_until(1_000_000_000)
    lockstep.stop()
    return lockstep


def test_the_run_ends_by_itself_when_the_source_is_done(tmp_path: Path) -> None:
    run = ran(tmp_path)
    assert run.done
    assert run.node("thinker").closed == "beat ended"
    assert run.node("sink").finished == "every node it listens to has ended"
    assert run.failures == []


def test_messages_arrive_in_order_and_at_their_time(tmp_path: Path) -> None:
    ms = 1_000_000
    assert ran(tmp_path).node("sink").got[:4] == [
        ("beat", 0, 10 * ms, 10 * ms),
        ("command", 0, 10 * ms, 10 * ms),
        ("beat", 1, 20 * ms, 20 * ms),
        ("command", 1, 20 * ms, 20 * ms),
    ]


def test_a_thinking_node_answers_late_and_reads_nothing_meanwhile(tmp_path: Path) -> None:
    run = ran(tmp_path, thinking=25)
    heard = [(text, now // 1_000_000) for text, now in run.node("thinker").heard]
    assert heard == [("1", 10), ("2", 35), ("3", 60), ("4", 85), ("5", 110)]


def test_thinking_time_is_drawn_from_the_seed(tmp_path: Path) -> None:
    def times(seed: int) -> list[Any]:
        return ran(tmp_path, "5..9", seed).node("sink").got

    assert times(1) == times(1)
    assert times(1) != times(2)


@pytest.mark.parametrize("value", ["fast", "9..5", -3, "nan"])
def test_a_thinking_time_that_is_none_is_refused(tmp_path: Path, value: Any) -> None:
    with pytest.raises(SettingsError, match="LOCKSTEP_THINKING_MS"):
        ran(tmp_path, value)


def test_timers_are_read_as_dora_writes_them() -> None:
    assert timer_period_ns("dora/timer/millis/20") == 20_000_000
    assert timer_period_ns("dora/timer/hz/50") == 20_000_000
    with pytest.raises(SettingsError, match="expected dora/timer/millis/N"):
        timer_period_ns("dora/timer/fortnights/1")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"path": "none.py"}, "node source: no file"),
        ({"path": "python"}, "only Python node files run in one process"),
        ({"outputs": ["beet"]}, "no output 'beet'; did you mean 'beat'"),
        ({"inputs": {"tock": "sink/x"}}, "no input 'tock'"),
        ({"env": {"SPEED": 1}}, "unknown setting 'SPEED'"),
    ],
)
def test_a_dataflow_that_does_not_fit_is_named(
    tmp_path: Path, change: dict[str, Any], text: str
) -> None:
    graph = dataflow(tmp_path)
    graph["nodes"][0].update(change)
    with pytest.raises(InterlockError, match=text):
        Lockstep(graph, dataflow_dir=tmp_path, run_dir=tmp_path)


def test_a_node_that_fails_to_import_is_one_line(tmp_path: Path) -> None:
    graph = dataflow(tmp_path)
    (tmp_path / "source_node.py").write_text("import nothing_like_this\n")
    with pytest.raises(InterlockError) as error:
        Lockstep(graph, dataflow_dir=tmp_path, run_dir=tmp_path)
    text = str(error.value)
    assert text.startswith("node source: source_node.py fails to import: ModuleNotFoundError: ")
    assert "\n" not in text


def test_a_failing_node_is_told_to_its_consumers(tmp_path: Path) -> None:
    graph = dataflow(tmp_path)
    file = tmp_path / "source_node.py"
    file.write_text(file.read_text().replace("self.finished =", "self.failed ="))
    run = Lockstep(graph, dataflow_dir=tmp_path, run_dir=tmp_path)
    run.start()
    run.run_until(10**9)
    assert run.failures == ["node source: counted to five"]
    assert run.node("thinker").closed == "beat counted to five"


def test_global_random_numbers_change_nothing(tmp_path: Path) -> None:
    first = ran(tmp_path, "5..9", 3).node("sink").got
    np.random.seed(1)  # noqa: NPY002 (the point of the test)
    np.random.rand(7)  # noqa: NPY002
    assert ran(tmp_path, "5..9", 3).node("sink").got == first
