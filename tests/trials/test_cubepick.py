"""The flat world: bodies stack, the hand takes the topmost, and the picture shows them."""

import struct
import zlib

import pytest

from interlock.trials.backend import Motion
from interlock.trials.cubepick import CubePick
from interlock.trials.errors import RefusedError
from interlock.trials.scenario import Scenario, Thing


def world(**positions: tuple[float, float, float]) -> CubePick:
    cube = CubePick()
    things = {name: Thing(position_m=position) for name, position in positions.items()}
    cube.reset(Scenario(objects=things), seed=0)
    return cube


def run(motion: Motion) -> int:
    return sum(1 for _ in motion)


def test_a_body_put_on_another_rests_on_its_top() -> None:
    cube = world(a=(0.1, 0.1, 0.02), b=(-0.1, 0.1, 0.02))
    run(cube.skill("pick", ["a"]))
    assert cube.scene().bodies["a"].held
    run(cube.skill("place", ["b"]))
    assert cube.scene().bodies["a"].position_m == pytest.approx((-0.1, 0.1, 0.06))


def test_the_topmost_body_is_taken() -> None:
    cube = world(low=(0.1, 0.1, 0.02), high=(0.1, 0.1, 0.06))
    run(cube.skill("pick", ["low"]))
    assert [n for n, body in cube.scene().bodies.items() if body.held] == ["high"]


def test_a_straight_move_takes_as_many_steps_as_its_length_needs() -> None:
    cube = world()
    motion = cube.move_to([0.25, 0.0, 0.0], grip=None, tolerance_m=0.01, max_steps=100)
    assert run(motion) == 5


def test_the_hand_cannot_leave_the_table() -> None:
    cube = world()
    for _ in range(10):
        run(cube.act([0.05, 0.0, 1.0]))
    with pytest.raises(RefusedError, match="outside the table"):
        run(cube.act([0.05, 0.0, 1.0]))
    assert cube.scene().hand_m[0] == pytest.approx(0.5)


def test_the_picture_is_a_png_with_the_body_at_its_place() -> None:
    cube = world(a=(0.25, 0.25, 0.02))
    png = cube.picture("top", width=40, height=40)
    assert struct.unpack(">II", png[16:24]) == (40, 40)
    start = png.index(b"IDAT") + 4
    length = struct.unpack(">I", png[start - 8 : start - 4])[0]
    rows = zlib.decompress(png[start : start + length])
    offset = 10 * (1 + 3 * 40) + 1 + 3 * 30
    assert tuple(rows[offset : offset + 3]) == (200, 40, 40)
