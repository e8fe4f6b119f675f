"""Rule puzzles: drawn from the seed, solvable, and silent about rule and seed."""

import pytest
from trial_worlds import make_task

from interlock.trials.rule_moves import RULES
from interlock.trials.task import instantiate

START = {"red": (0, 3), "blue": (0, 1), "green": (2, 4)}


def test_gravity_keeps_the_order_of_a_column() -> None:
    assert RULES["gravity"](START) == {"red": (0, 1), "blue": (0, 0), "green": (2, 0)}


def test_a_quarter_turn_four_times_is_nothing() -> None:
    layout = START
    for _ in range(4):
        layout = RULES["turn"](layout)
    assert layout == START


def test_follow_lines_up_beside_red() -> None:
    assert RULES["follow"](START) == {"red": (0, 3), "blue": (1, 3), "green": (2, 3)}


@pytest.mark.parametrize("rule", sorted(RULES))
def test_every_rule_moves_something_and_two_seeds_differ(rule: str) -> None:
    front = f"title: t\nworld: cubepick\nmax_steps: 400\nrule: {rule}\nskills: [pick, place]\n"
    task = make_task(front)
    one, two = (instantiate(task, seed=seed) for seed in (0, 1))
    assert one.scenario != two.scenario
    assert len(one.solution) >= 5
    assert rule not in one.prompt
