"""The trace node in a lockstep run and by itself: everything recorded, everything missing named."""

import json
import textwrap

import pytest

from interlock.messages import Command, Event, Received, Stamp
from interlock.nodes._lockstep import Lockstep
from interlock.nodes._node import Context
from interlock.nodes.trace_sink import TraceNode
from interlock.operators.trace import Trace, digest

SPEAKER = """
    from typing import ClassVar
    from interlock.messages import Event, Output
    from interlock.nodes._node import Node

    class Speaker(Node):
        outputs: ClassVar[dict[str, type]] = {"word": Event}
        spoken = 0

        def on_tick(self, now_ns):
            self.spoken += 1
            if self.spoken == 50:
                self.finished = "said it all"
            return [Output(output="word", message=Event(kind="task", text=str(self.spoken)))]

    NODE = Speaker
"""
GRAPH = {
    "nodes": [
        {"id": "speaker", "path": "speaker.py", "inputs": {"tick": "dora/timer/millis/20"},
         "outputs": ["word"]},
        {"id": "trace", "path": "", "outputs": ["event"],
         "inputs": {"tick": "dora/timer/millis/100",
                    "words": {"source": "speaker/word", "queue_size": 20000},
                    "silent": "speaker/silent"}},
    ]
}  # fmt: skip


def run_lockstep(tmp_path, name, seed=0):
    from interlock.nodes import trace_sink

    (tmp_path / "speaker.py").write_text(textwrap.dedent(SPEAKER))
    GRAPH["nodes"][1]["path"] = trace_sink.__file__
    run = Lockstep(GRAPH, dataflow_dir=tmp_path, run_dir=tmp_path / name, seed=seed)
    run.start()
    run.run_until(2_000_000_000)
    run.stop()
    assert run.failures == []
    return tmp_path / name


def test_a_lockstep_run_is_recorded_whole_and_alike_every_time(tmp_path):
    runs = [run_lockstep(tmp_path, name) for name in ("one", "two")]
    texts = [r.message.text for r in Trace(runs[0]).messages(outputs=["speaker/word"])]
    assert texts == [str(i + 1) for i in range(50)]
    assert digest(runs[0]) == digest(runs[1])


def test_the_summary_names_outputs_that_never_spoke(tmp_path):
    summary = Trace(run_lockstep(tmp_path, "run")).summary
    assert summary["outputs"]["speaker/word"]["count"] == 50
    assert summary["outputs"]["speaker/silent"]["count"] == 0
    assert (summary["gaps"], summary["left_out"], summary["error"]) == (0, 0, "")
    assert summary["edges"][0]["source"] == "speaker/word"


@pytest.fixture
def node(tmp_path):
    inputs = {"words": "speaker/word", "command": "policy/command"}
    dataflow = {"nodes": [{"id": "trace", "inputs": inputs}]}
    context = Context(node_id="trace", run_id="r", run_dir=tmp_path, dataflow=dataflow)
    return TraceNode(TraceNode.Settings(), context)


def word(seq, sent_ns, source="speaker"):
    stamp = Stamp(source=source, seq=seq, observed_ns=sent_ns, sent_ns=sent_ns)
    message = Event(kind="task", text="x")
    return Received(message=message, stamp=stamp, output="word", received_ns=sent_ns)


def test_lost_messages_are_a_warning_at_once_and_a_number_at_the_end(node, tmp_path):
    for seq in (0, 1, 5, 6, 9):
        node.on_message("words", word(seq, seq + 1), now_ns=10)
    [event] = node.on_tick(20)
    assert event.message.text == "messages lost before the trace: 5 of speaker/word"
    node.on_stop(30)
    assert Trace(tmp_path).summary["outputs"]["speaker/word"]["gaps"] == 5


def test_a_restarted_sender_is_no_gap(node, tmp_path):
    for seq, sent_ns in ((0, 1), (1, 2), (2, 3), (0, 4), (1, 5)):
        node.on_message("words", word(seq, sent_ns), now_ns=10)
    node.on_stop(30)
    counts = Trace(tmp_path).summary["outputs"]["speaker/word"]
    assert (counts["count"], counts["gaps"], counts["restarts"]) == (5, 0, 1)


def test_a_message_that_arrives_late_fills_its_gap(node, tmp_path):
    for seq in (0, 2, 1, 3):
        node.on_message("words", word(seq, seq + 1), now_ns=10)
    node.on_stop(30)
    counts = Trace(tmp_path).summary["outputs"]["speaker/word"]
    assert (counts["count"], counts["gaps"], counts["late"]) == (4, 0, 1)


def test_a_message_is_recorded_under_the_output_it_is_wired_to(node, tmp_path):
    node.on_message("words", word(0, 1, source="a liar"), now_ns=10)
    command = Command(task="t", space="hold")
    node.on_message("command", Received(message=command, stamp=word(0, 1).stamp, output="x",
                                        received_ns=2), now_ns=10)  # fmt: skip
    node.on_stop(30)
    assert [s.name for s in Trace(tmp_path).streams] == ["policy/command", "speaker/word"]


def test_a_node_that_died_is_recorded_with_its_reason(node, tmp_path):
    node.on_closed("words", "node speaker died: exited with code 9", now_ns=10)
    node.on_closed("command", "ended", now_ns=10)
    node.on_stop(30)
    [event] = Trace(tmp_path).of(Event)
    assert event.message.text == "speaker/word closed: node speaker died: exited with code 9"
    assert json.loads(event.message.data)["node"] == "speaker"


def test_a_full_disk_ends_the_run_with_one_sentence(node, tmp_path):
    folder = tmp_path / "trace"
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    node.on_message("words", word(0, 1), now_ns=0)
    for now_ns in range(0, 10**9, 10**8):
        events = list(node.on_tick(now_ns))
        if events:
            break
        node._writer._disk._thread.join(0.05)
    assert events[0].message.kind == "error"
    assert "can't be written" in node.failed
