"""Goals over the graph: accepted, redirected, cancelled at rest, refused with the reason."""

import textwrap

import pytest

from interlock.benchmarks.arena_graph import dataflow
from interlock.nodes._lockstep import Lockstep

ASKER = """
from typing import ClassVar
from interlock.messages import Cancel, Feedback, Goal, Output, Result
from interlock.nodes._node import Node


class Asker(Node):
    inputs: ClassVar = {"feedback": Feedback, "result": Result}
    outputs: ClassVar = {"goal": Goal, "cancel": Cancel}

    def __init__(self, settings, context):
        super().__init__(settings, context)
        self.heard, self.ticks = [], 0

    def on_feedback(self, received, now_ns):
        self.heard.append(received.message)
        return ()

    on_result = on_feedback

    def on_tick(self, now_ns):
        self.ticks += 1
        return [Output(output=o, message=m) for at, o, m in SCRIPT if at == self.ticks]


NODE = Asker
"""


@pytest.fixture
def ask(tmp_path):
    def ask(script, seconds):
        (tmp_path / "asker.py").write_text(f"{ASKER}\nSCRIPT = {textwrap.dedent(script)}\n")
        graph = dataflow({}, scene="tabletop", layout_seed=0)
        for node in graph["nodes"]:
            if node["id"] == "policy":
                node["path"] = node["path"].replace("policy.py", "skills.py")
                node["env"] = {"SCENE": "tabletop"}
                node["inputs"] |= {"goal": "asker/goal", "cancel_goal": "asker/cancel"}
                node["outputs"].append("feedback")
        graph["nodes"].append(
            {
                "id": "asker",
                "path": "asker.py",
                "inputs": {
                    "tick": "dora/timer/millis/100",
                    "feedback": "policy/feedback",
                    "result": "policy/result",
                },
                "outputs": ["goal", "cancel"],
            }
        )
        run = Lockstep(graph, dataflow_dir=tmp_path, run_dir=tmp_path)
        run.start()
        run.run_until(int(seconds * 1e9))
        heard = run.node("asker").heard
        rest = run.node("simulator").driver.at_rest
        run.stop()
        return heard, rest

    return ask


def results(heard):
    return {m.goal: (m.status, m.reason) for m in heard if hasattr(m, "status")}


def test_a_goal_is_acknowledged_carried_out_and_its_result_told(ask):
    script = """[(2, "goal", Goal(goal="g1", skill="home"))]"""
    heard, _ = ask(script, 1.5)
    assert next(m.phase for m in heard if hasattr(m, "phase")) == "accepted"
    assert results(heard) == {"g1": ("succeeded", "")}


def test_the_same_goal_again_redirects_it_and_a_cancel_ends_it_at_rest(ask):
    script = """[
        (2, "goal", Goal(goal="g1", skill="follow", parameters='{"target": "cup_red"}')),
        (8, "goal", Goal(goal="g1", skill="follow", parameters='{"target": "cup_blue"}')),
        (20, "cancel", Cancel(task="g1", reason="enough")),
    ]"""
    heard, at_rest = ask(script, 3.0)
    assert results(heard) == {"g1": ("cancelled", "enough")}
    assert at_rest


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        ('skill="gras", parameters="{}"', "did you mean 'grasp'"),
        ('skill="home", parameters="{"', "Expecting"),
        ('skill="lift", parameters=\'{"height": 1}\'', "did you mean 'height_m'"),
    ],
)
def test_a_goal_that_makes_no_sense_is_refused_with_the_way_out(ask, goal, expected):
    heard, _ = ask(f'[(2, "goal", Goal(goal="g1", {goal}))]', 0.5)
    status, reason = results(heard)["g1"]
    assert status == "refused"
    assert expected in reason
