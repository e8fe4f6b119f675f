"""Skills and tasks against the real physics and the real Gate, on simulated time."""

import textwrap

import numpy as np
import pytest

from interlock.benchmarks.arena import Disturbance, play

PREAMBLE = """
import asyncio
from interlock.messages import InterlockError, StaleDataError
from interlock.policies.errors import *
from interlock.policies.program import changes, report, start, wait, world
from interlock.policies.skills import *
"""


@pytest.fixture
def run(tmp_path):
    def run(source, *disturbances, **settings):
        file = tmp_path / "program.py"
        file.write_text(PREAMBLE + textwrap.dedent(source))
        return play(str(file), disturbances, **{"limit_s": 20.0, **settings})

    return run


def test_the_cup_is_put_on_the_tray(run):
    outcome = run("""
        async def main():
            await start(Grasp("cup_red"))
            await start(Lift(0.1))
            await start(Place("tray"))
        """)
    assert outcome.success, outcome.told


def test_cancel_returns_when_the_arm_is_at_rest(run):
    outcome = run("""
        async def main():
            task = start(MoveTo((0.55, -0.25, 0.3)))
            await asyncio.sleep(0.5)
            moving = world.read("state", max_age_ms=100).tool_speed_mps
            await task.cancel("enough")
            state = world.read("state", max_age_ms=100)
            return f"{moving > 0.1} {state.tool_speed_mps <= 0.005} {task.status} {task.reason}"
        """)
    assert outcome.ended == "True True cancelled enough"


def test_start_returns_at_once_and_the_motion_goes_on(run):
    outcome = run("""
        async def main():
            task = start(MoveTo((0.5, 0.0, 0.3)))
            before = task.done()
            await task
            return f"{before} {task.status}"
        """)
    assert outcome.ended == "False succeeded"


def test_update_redirects_a_running_motion_without_a_stop(run):
    outcome = run("""
        async def main():
            task = start(MoveTo((0.5, -0.25, 0.3)))
            await asyncio.sleep(0.4)
            task.update(target=(0.5, 0.25, 0.3))
            await task
            tool = world.read("state", max_age_ms=100).world_from_tool
            return f"{tool[1]:.2f}"
        """)
    assert outcome.ended == "0.25"
    assert np.abs(outcome.tool[:, 1]).max() < 0.26


def test_a_second_motion_waits_its_turn(run):
    outcome = run("""
        async def main():
            first = start(MoveTo((0.5, 0.1, 0.35)))
            second = start(MoveTo((0.5, -0.1, 0.35)))
            await second
            return f"{first.status}"
        """)
    assert outcome.ended == "succeeded"


def test_a_program_that_ends_takes_its_tasks_with_it(run):
    outcome = run("""
        async def main():
            start(MoveTo((0.5, -0.25, 0.2)))
            await asyncio.sleep(0.3)
            return "gone"
        """)
    assert outcome.ended == "gone"
    assert any("move_to" in line and "cancelled" in line for line in outcome.told)
    assert np.allclose(outcome.tool[-1], outcome.tool[-3], atol=1e-4)


def test_fingers_that_close_on_nothing_are_noticed(run):
    outcome = run("""
        async def main():
            try:
                await start(Grasp((0.5, 0.25, 0.1)))
            except EmptyGraspError as error:
                return str(error)
        """)
    assert "nothing is between them" in outcome.ended


def test_an_object_that_is_never_seen_again_ends_the_grasp_with_open_fingers(run):
    gone = Disturbance(at_s=0.5, action="hide", values={"name": "cup_red"})
    outcome = run(
        """
        async def main():
            try:
                await start(Grasp("cup_red"))
            except StaleDataError as error:
                return str(error)
        """,
        gone,
    )
    assert outcome.ended.startswith("'cup_red' from 'eyes'")
    assert outcome.open_at_end
    assert outcome.completion_s < 0.5 + 2.0


def test_a_grasp_waits_out_a_short_blindness(run):
    outcome = run(
        """
        async def main():
            await start(Grasp("cup_red"))
            return "held"
        """,
        Disturbance(at_s=0.4, action="crash"),
        Disturbance(at_s=1.2, action="restart"),
    )
    assert outcome.ended == "held"


def test_a_held_object_that_is_taken_away_is_noticed(run):
    outcome = run(
        """
        async def main():
            try:
                await start(Grasp("cup_red"))
                await start(Lift(0.3, speed=0.1))
            except SlippedError as error:
                return str(error)
        """,
        Disturbance(at_s=4.0, action="remove", values={"name": "cup_red"}),
    )
    assert "cup_red slipped" in outcome.ended


def test_a_target_out_of_reach_is_said_at_once(run):
    outcome = run("""
        async def main():
            await start(MoveTo((0.2, 0.0, 1.6)))
        """)
    assert outcome.failed
    assert "no joint positions reach" in outcome.ended or "can't go on" in outcome.ended


def test_a_refusal_of_the_gate_ends_the_task_with_its_sentence(run):
    outcome = run("""
        async def main():
            try:
                await start(MoveTo((0.4, 0.0, -0.02)))
            except GateRefusedError as error:
                return str(error)
        """)
    assert "table" in outcome.ended or "workspace" in outcome.ended


def test_changes_follow_an_object_while_a_task_runs(run):
    outcome = run("""
        async def main():
            task = start(Wait(0.5))
            seen = [pose.name async for pose in changes("cup_red", while_running=task)]
            key = await wait(wake_on=["cup_blue"], timeout_s=1.0)
            nothing = await wait(wake_on=["never"], timeout_s=0.1)
            return f"{len(seen) > 10} {key} {nothing!r}"
        """)
    assert outcome.ended == "True cup_blue ''"


def test_a_program_that_raises_ends_with_its_error(run):
    outcome = run("""
        async def main():
            start(MoveTo((0.5, -0.25, 0.3)))
            await asyncio.sleep(0.2)
            raise KeyError("cup_green")
        """)
    assert outcome.failed
    assert "cup_green" in outcome.ended


def test_the_same_program_moves_the_same_way_to_the_bit(run):
    source = """
        async def main():
            await start(MoveTo("cup_red"))
        """
    assert np.array_equal(run(source).tool, run(source).tool)


@pytest.mark.parametrize(
    "call",
    [
        'Push("cup_red", by_m=(0.06, 0.0))',
        'Tap("cup_blue")',
        'Follow("cup_red", duration_s=1.0)',
        "Home()",
        "Release()",
    ],
)
def test_every_other_skill_succeeds(run, call):
    outcome = run(f"""
        async def main():
            return str(await start({call}))
        """)
    assert outcome.ended, outcome.told
    assert not outcome.failed, outcome.told


def test_a_held_cup_is_handed_over_when_it_is_pulled(run):
    pull = {"name": "cup_red", "by_m": [0.02, 0.0, 0.0], "duration_s": 0.3}
    outcome = run(
        """
        async def main():
            await start(Grasp("cup_red"))
            await start(Lift(0.2))
            return str(await start(HandOver((0.5, 0.2, 0.3))))
        """,
        Disturbance(at_s=6.0, action="push", values=pull),
    )
    assert "handed_over" in outcome.ended
    assert outcome.open_at_end
