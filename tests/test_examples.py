"""Every example runs in lockstep and ends as it says."""

from pathlib import Path

import pytest

from interlock.benchmarks.arena import play

EXAMPLES = Path(__file__).parents[1] / "examples"
EXPECTED = {
    "in_order": "the cup is on the tray",
    "try_again": "done at attempt 1",
    "follow_the_nearest": "stayed with cup_",
    "think_while_acting": "put it on the tray",
    "wait_for_a_word": "lifted it after waiting",
    "give_up_in_time": "cancelled at",
    "custom_skill": "round once",
    "work_and_watch": "the cup is on the tray",
}


def test_every_program_among_the_examples_is_tested():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_an_example_ends_as_it_says(name):
    outcome = play(str(EXAMPLES / f"{name}.py"), limit_s=15.0)
    assert not outcome.failed, outcome.told
    assert outcome.ended.startswith(EXPECTED[name])


def test_the_agent_example_puts_the_cup_on_the_tray():
    model = f"scripted:{EXAMPLES / 'agent.json'}"
    options = {"POLICY": "react", "MODEL": model, "INSTRUCTION": "put the red cup on the tray"}
    assert play("task_based", extra=options, limit_s=15.0).success
