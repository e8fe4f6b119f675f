"""The hidden rules of the puzzles: each maps where cubes are to where they belong.

A cell is (column, row); columns grow to the right, rows upwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

Cell = tuple[int, int]
Layout = dict[str, Cell]

SIZE = 4
LAST = SIZE - 1
MIDDLE = SIZE // 2


def gravity(start: Layout) -> Layout:
    """Let every cube fall down its column onto what lies below."""
    goal: Layout = {}
    height = dict.fromkeys(range(SIZE), 0)
    for name, (column, _) in sorted(start.items(), key=lambda item: item[1][1]):
        goal[name] = (column, height[column])
        height[column] += 1
    return {name: goal[name] for name in start}


def wind(start: Layout) -> Layout:
    """Blow every cube to the right along its row, until it meets the edge or another."""
    goal: Layout = {}
    reach = dict.fromkeys(range(SIZE), LAST)
    for name, (_, row) in sorted(start.items(), key=lambda item: -item[1][0]):
        goal[name] = (reach[row], row)
        reach[row] -= 1
    return {name: goal[name] for name in start}


def mirror(start: Layout) -> Layout:
    """Swap left and right."""
    return {name: (LAST - column, row) for name, (column, row) in start.items()}


def flip(start: Layout) -> Layout:
    """Swap top and bottom."""
    return {name: (column, LAST - row) for name, (column, row) in start.items()}


def turn(start: Layout) -> Layout:
    """Turn the grid a quarter clockwise."""
    return {name: (row, LAST - column) for name, (column, row) in start.items()}


def opposite(start: Layout) -> Layout:
    """Turn the grid by half."""
    return {name: (LAST - column, LAST - row) for name, (column, row) in start.items()}


def transpose(start: Layout) -> Layout:
    """Swap columns and rows."""
    return {name: (row, column) for name, (column, row) in start.items()}


def shift(start: Layout) -> Layout:
    """Move everything two columns to the right; what leaves comes back at the left."""
    return {name: ((column + 2) % SIZE, row) for name, (column, row) in start.items()}


def climb(start: Layout) -> Layout:
    """Move every cube up by its column number, round the top."""
    return {name: (column, (row + column) % SIZE) for name, (column, row) in start.items()}


def swap(start: Layout) -> Layout:
    """Red and blue change places; the first two of the others do as well."""
    names = list(start)
    goal = dict(start)
    for first, second in zip(names[0::2], names[1::2], strict=False):
        goal[first], goal[second] = start[second], start[first]
    return goal


def follow(start: Layout) -> Layout:
    """Line up in the row of the red cube, to its right, in the order of their columns."""
    column, row = start["red"]
    others = sorted((name for name in start if name != "red"), key=lambda name: start[name])
    line = {name: (column + 1 + i, row) for i, name in enumerate(others)}
    return {name: line.get(name, start[name]) for name in start}


def diagonal(start: Layout) -> Layout:
    """Go along the row to the diagonal from bottom left to top right."""
    return {name: (row, row) for name, (_, row) in start.items()}


def cross(start: Layout) -> Layout:
    """Go along the column to the middle row."""
    return {name: (column, MIDDLE) for name, (column, _) in start.items()}


def queue(start: Layout) -> Layout:
    """Queue up in the bottom row, from the left, in the order of their rows."""
    order = sorted(start, key=lambda name: (start[name][1], start[name][0]))
    return {name: (order.index(name), 0) for name in start}


def corners(start: Layout) -> Layout:
    """Go to the nearest corner."""
    return {
        name: (0 if column < MIDDLE else LAST, 0 if row < MIDDLE else LAST)
        for name, (column, row) in start.items()
    }


def spread(start: Layout) -> Layout:
    """Go to the nearer side, left or right, along the row."""
    return {name: (0 if column < MIDDLE else LAST, row) for name, (column, row) in start.items()}


RULES: dict[str, Callable[[Layout], Layout]] = {
    rule.__name__: rule
    for rule in (
        gravity,
        wind,
        mirror,
        flip,
        turn,
        opposite,
        transpose,
        shift,
        climb,
        swap,
        follow,
        diagonal,
        cross,
        queue,
        corners,
        spread,
    )
}
