"""What a policy node does with programs that are wrong, that block, or that change."""

import pytest

from interlock.benchmarks.arena import play
from interlock.benchmarks.arena_graph import dataflow
from interlock.messages import InterlockError
from interlock.nodes._lockstep import Lockstep

HEAD = """
import asyncio, time
from interlock.policies.program import report, start
from interlock.policies.skills import *
"""


def file_with(tmp_path, body):
    file = tmp_path / "program.py"
    file.write_text(f"{HEAD}\nasync def main():\n{body}\n")
    return file


def test_a_program_that_blocks_is_interrupted_and_named_with_its_line(tmp_path):
    body = "    start(MoveTo((0.5, -0.2, 0.3)))\n    await asyncio.sleep(0.3)\n    time.sleep(60)"
    outcome = play(str(file_with(tmp_path, body)), limit_s=5.0)
    assert outcome.failed
    assert "blocked its loop for 2 s" in outcome.ended
    assert "line 9" in outcome.ended


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("async def main(:", "line 1: invalid syntax"),
        ("import nothing_like_it", "line 1: ModuleNotFoundError"),
        ("def main(): pass", "async def main"),
    ],
)
def test_a_file_that_is_no_program_is_refused_before_anything_moves(tmp_path, text, expected):
    file = tmp_path / "program.py"
    file.write_text(text)
    with pytest.raises(InterlockError, match=expected):
        play(str(file), limit_s=1.0)


def test_a_policy_that_does_not_exist_names_the_nearest():
    with pytest.raises(InterlockError, match="did you mean 'scripted'"):
        play("task_based", extra={"POLICY": "scriptd"}, limit_s=1.0)


def test_a_changed_program_replaces_the_running_one_between_motions(tmp_path):
    file = file_with(tmp_path, "    while True:\n        await start(MoveTo((0.5, 0.0, 0.3)))")
    settings = {"POLICY": "program", "PROGRAM": str(file), "WATCH": "true"}
    graph = dataflow(settings, scene="tabletop", layout_seed=0)
    run = Lockstep(graph, dataflow_dir=tmp_path, run_dir=tmp_path)
    run.start()
    run.run_until(1_000_000_000)
    file.write_text("async def main(:")
    run.run_until(2_000_000_000)
    assert not run.node("policy").failed
    file_with(tmp_path, '    return "the new one"')
    run.run_until(5_000_000_000)
    told = run.node("policy").runtime.told
    assert run.node("policy").finished == "the new one"
    assert any("the running program goes on" in line for line in told)
    assert any("replaced by a newer program" in line for line in told)
    run.stop()
