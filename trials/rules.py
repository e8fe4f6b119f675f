"""Rule puzzles: cubes on a grid, a hidden rule, three examples in the prompt, one layout to solve.

The seed draws layout and examples; the prompt names neither the seed nor the rule.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from interlock.messages.errors import nearest
from interlock.trials.errors import TaskError
from interlock.trials.rule_moves import RULES, SIZE, Cell, Layout

if TYPE_CHECKING:
    from interlock.trials.task import Task

#: Distance of the cells: the fingers must fit between neighbours.
PITCH_M = 0.11
CUBE_M = 0.035
#: Centre of the grid on each world's table, in m.
CENTRES = {"cubepick": (0.0, 0.0), "tabletop": (0.55, 0.0)}
#: A free place beside the grid, relative to its centre, in m: for cycles of moves.
PARKING_M = (0.0, 0.3)
COLOURS = ("red", "blue", "green", "yellow", "purple")
EXAMPLES = 3


def generate(task: Task, *, seed: int) -> Task:
    """Return the task with its scenario, prompt, checker and solution drawn from the seed.

    Raises:
        TaskError: If there is no such rule.
    """
    if task.rule not in RULES:
        raise TaskError(f"task {task.id}: no rule {task.rule!r}; {nearest(task.rule, RULES)}")
    rule = RULES[task.rule]
    draw = random.Random(f"{task.rule}:{seed}")
    examples = [_draw(rule, draw) for _ in range(EXAMPLES)]
    start, goal = _draw(rule, draw)
    place = _placer(task.world)
    return dataclasses.replace(
        task,
        rule="",
        scenario={"objects": {name: _cube(name, place(cell)) for name, cell in start.items()}},
        prompt=task.prompt.replace("{examples}", _show(examples)).replace("{grid}", _grid(place)),
        success=[
            {"at": {"object": name, "position_m": [*place(cell), CUBE_M / 2], "within_m": 0.03}}
            for name, cell in goal.items()
        ],
        solution=_solution(start, goal, place),
    )


Placer = Callable[[Cell], tuple[float, float]]


def _draw(rule: Callable[[Layout], Layout], draw: random.Random) -> tuple[Layout, Layout]:
    """Draw layouts until the rule moves at least two cubes to cells of their own."""
    while True:
        cells = [(column, row) for column in range(SIZE) for row in range(SIZE)]
        names = COLOURS[: draw.choice((3, 4))]
        start = dict(zip(names, draw.sample(cells, len(names)), strict=True))
        goal = rule(start)
        inside = all(0 <= c < SIZE and 0 <= r < SIZE for c, r in goal.values())
        moved = sum(start[name] != goal[name] for name in names)
        if inside and moved >= 2 and len(set(goal.values())) == len(names):
            return start, goal


def _placer(world: str) -> Placer:
    x0, y0 = CENTRES.get(world, (0.0, 0.0))
    middle = (SIZE - 1) / 2

    def place(cell: Cell) -> tuple[float, float]:
        return (
            round(x0 + (cell[0] - middle) * PITCH_M, 4),
            round(y0 + (cell[1] - middle) * PITCH_M, 4),
        )

    return place


def _cube(colour: str, position: tuple[float, float]) -> dict[str, object]:
    return {
        "position_m": [*position, CUBE_M / 2],
        "size_m": [CUBE_M, CUBE_M, CUBE_M],
        "colour": colour,
    }


def _solution(start: Layout, goal: Layout, place: Placer) -> tuple[str, ...]:
    """Move each cube whose cell is free; park one when they wait for each other."""
    now: dict[str, Cell | None] = dict(start)
    lines: list[str] = []
    while waiting := [name for name in now if now[name] != goal[name]]:
        taken = set(now.values())
        free = [name for name in waiting if goal[name] not in taken]
        name = free[0] if free else waiting[0]
        now[name] = goal[name] if free else None
        x, y = place(goal[name]) if free else _parking(place)
        lines += [f"skill pick {name}", f"skill place {x} {y}"]
    return (*lines, "done")


def _parking(place: Placer) -> tuple[float, float]:
    middle = SIZE // 2
    x, y = place((middle, middle))
    return round(x + PARKING_M[0], 4), round(y + PARKING_M[1], 4)


def _show(examples: list[tuple[Layout, Layout]]) -> str:
    blocks = []
    for number, (before, after) in enumerate(examples, start=1):
        blocks.append(f"Example {number}, before:\n{_text(before)}\nafter:\n{_text(after)}")
    return "\n\n".join(blocks)


def _text(layout: Mapping[str, Cell]) -> str:
    """Return the grid as text, the top row first, each cube as its first letter."""
    letters = {cell: name[0].upper() for name, cell in layout.items()}
    rows = [
        " ".join(letters.get((column, row), ".") for column in range(SIZE))
        for row in reversed(range(SIZE))
    ]
    return "\n".join(rows)


def _grid(place: Placer) -> str:
    x, y = place((0, 0))
    return (
        f"The grid has {SIZE} columns along x, {SIZE} rows along y, {100 * PITCH_M:.0f} cm apart; "
        f"column 0, row 0 (bottom left in the pictures) has its centre at x = {x} m, y = {y} m."
    )
