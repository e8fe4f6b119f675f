"""Agents with a scripted model, the real physics and the real Gate; programs in a real cell."""

import json
import shutil

import pytest

from interlock.benchmarks.arena import play

needs_walls = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is missing")
HEAD = """
import asyncio, os, time
from interlock.policies.program import start, world
from interlock.policies.skills import *
"""


@pytest.fixture
def agent(tmp_path):
    def agent(loop, answers, **settings):
        file = tmp_path / "model.json"
        file.write_text(json.dumps(answers))
        options = {
            "POLICY": loop,
            "MODEL": f"scripted:{file}",
            "INSTRUCTION": "put the red cup on the tray",
        }
        return play("task_based", extra=options | settings, limit_s=20.0)

    return agent


def program(body):
    return f"```python\n{HEAD}\nasync def main():\n{body}\n```"


def done(summary="it is there"):
    return {"tool": "done", "arguments": {"success": True, "summary": summary}}


def test_react_uses_tools_and_reads_why_one_failed(agent):
    outcome = agent(
        "react",
        [
            {"tool": "look"},
            {"tool": "fly"},
            {"tool": "move_to", "arguments": {"target": [0.5, 0.0, 0.3]}},
            done(),
        ],
    )
    assert outcome.ended == "it is there"
    assert any(line.startswith("fly: error") and "no skill 'fly'" in line for line in outcome.told)


@pytest.mark.parametrize(
    ("answers", "settings", "expected"),
    [
        (["nonsense"] * 5, {"MAX_STEPS": 3}, "3 of 3 steps"),
        ([], {}, "no answer left"),
        ([{"tool": "done", "arguments": {"success": False, "summary": "no cup"}}], {}, "no cup"),
    ],
)
def test_a_model_of_no_use_ends_with_the_reason(agent, answers, settings, expected):
    outcome = agent("react", answers, **settings)
    assert outcome.failed
    assert expected in outcome.ended


@needs_walls
def test_a_program_that_fails_is_followed_by_one_that_works(agent):
    outcome = agent(
        "code",
        [
            "I would rather not.",
            program('    await start(Grasp("cup_green"))'),
            program('    await start(MoveTo((0.5, 0.0, 0.3)))\n    return "there"'),
        ],
    )
    assert outcome.ended == "there"
    assert any("cup_green" in line and "never received" in line for line in outcome.told)


@needs_walls
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("    import socket\n    socket.create_connection(('127.0.0.1', 80), 1)", "refused"),
        ("    os.write(os.open('/tmp/x', os.O_CREAT | os.O_RDWR), b'x')", "File too large"),
        ("    print('x' * 5_000_000)\n    raise ValueError('loud')", "loud"),
        ("    os._exit(3)", "exit code 3"),
    ],
)
def test_a_program_that_breaks_out_is_an_error_to_its_model(agent, body, expected):
    outcome = agent("code", [program(body)], MAX_STEPS=1)
    assert any("the program failed" in line and expected in line for line in outcome.told)
    assert outcome.failed


def test_two_rates_follow_what_a_slow_model_names(agent):
    outcome = agent("two_rate", ["cup_red", "a horse", "cup_blue", "stop"])
    assert outcome.ended == "the model said stop"
    assert outcome.tool[-1][1] > 0.1


def test_a_new_instruction_replaces_what_the_agent_does(tmp_path):
    from interlock.benchmarks.arena_graph import dataflow
    from interlock.nodes._lockstep import Lockstep

    file = tmp_path / "model.json"
    first = {"tool": "follow", "arguments": {"target": "cup_red"}}
    file.write_text(json.dumps([first, done("as told later")]))
    options = {"POLICY": "react", "MODEL": f"scripted:{file}", "INSTRUCTION": "follow the cup"}
    graph = dataflow(options, scene="tabletop", layout_seed=0)
    run = Lockstep(graph, dataflow_dir=tmp_path, run_dir=tmp_path)
    run.start()
    run.run_until(1_000_000_000)
    runtime = run.node("policy").runtime
    runtime.world.set("instruction", "stop that", observed_ns=run.now_ns, source="person")
    run.run_until(3_000_000_000)
    assert run.node("policy").finished == "as told later"
    assert any("the instruction has changed" in line for line in runtime.told)
    run.stop()
