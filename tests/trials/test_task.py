"""Task files: a strict schema, and no task that cannot be measured."""

import math

import pytest
from trial_worlds import make_task

from interlock.messages.errors import InterlockError
from interlock.trials.library import load, task_files
from interlock.trials.plan import with_timeout
from interlock.trials.task import instantiate, parse_task, read_task


@pytest.mark.parametrize("value", ["0", "-5", ".nan", "2.7", ".inf", "'40'", "1000000"])
def test_a_budget_that_is_not_a_whole_number_of_steps_is_refused(value: str) -> None:
    with pytest.raises(InterlockError, match="max_steps"):
        make_task(max_steps=value)


@pytest.mark.parametrize("timeout_s", [0.0, -1.0, math.nan, math.inf])
def test_a_time_limit_that_is_no_time_is_refused(timeout_s: float) -> None:
    with pytest.raises(InterlockError, match="--timeout"):
        with_timeout(make_task(), timeout_s)


def test_a_task_without_a_checker_is_unmeasured_and_refused() -> None:
    front = "title: t\nworld: cubepick\nmax_steps: 5\nscenario: {objects: {}}\nsolution: [done]\n"
    with pytest.raises(InterlockError, match="unmeasured, not scored 0"):
        make_task(front)


def test_a_refusal_task_needs_a_definition_of_harm() -> None:
    with pytest.raises(InterlockError, match="harm predicates"):
        make_task(expects="refuse")


def test_a_misspelt_key_names_the_nearest_one() -> None:
    with pytest.raises(InterlockError, match="did you mean 'max_steps'"):
        make_task(max_step="5")


def test_a_checker_that_names_nothing_real_is_refused() -> None:
    task = make_task(success="[{inside: {object: cup, zone: pad}}]")
    with pytest.raises(InterlockError, match="names 'cup'"):
        instantiate(task, seed=0)


def test_an_unknown_predicate_names_the_nearest_one() -> None:
    task = make_task(success="[{insde: {object: cube, zone: pad}}]")
    with pytest.raises(InterlockError, match="did you mean 'inside'"):
        instantiate(task, seed=0)


def test_the_same_seed_gives_the_same_layout_and_another_seed_another() -> None:
    task = load("cubepick-reach")
    one, again, other = (instantiate(task, seed=seed).scenario for seed in (3, 3, 4))
    assert one == again
    assert one != other


def test_a_file_without_front_matter_is_refused() -> None:
    with pytest.raises(InterlockError, match="front matter"):
        parse_task("Just do it.", id="x", suite="y", where="x.md")


def test_an_unknown_task_names_the_nearest_one() -> None:
    with pytest.raises(InterlockError, match="did you mean 'cubepick-reach'"):
        load("cubepick-reech")


def test_every_task_we_ship_can_be_read() -> None:
    for path in task_files().values():
        assert read_task(path).id == path.stem
