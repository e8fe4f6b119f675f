"""What is too near, and that an arm which is too near already always has a way back."""

import numpy as np
import pytest

from interlock.gate.clearance import Clearance
from interlock.gate.robot import Proximity


class Slider:
    """A robot of one joint that moves along one axis, a wall at zero."""

    def __init__(self) -> None:
        self.wall_m = 0.0

    def proximities(self, position: np.ndarray, within_m: float) -> list[Proximity]:
        distance = float(position[0]) - self.wall_m
        return [Proximity(distance, "hand", "wall")] if distance < within_m else []


@pytest.fixture
def slider() -> Slider:
    return Slider()


@pytest.fixture
def clearance(slider: Slider) -> Clearance:
    return Clearance(
        slider,  # type: ignore[arg-type]
        levers=np.array([1.0]),
        within_m=0.1,
        margin_of=lambda part, other: 0.01,
    )


def way(start: float, end: float) -> np.ndarray:
    return np.linspace(start, end, 20)[:, None]


def crossed(clearance: Clearance, path: np.ndarray) -> bool:
    return clearance.crossing(path, clearance.start_allowance(path[0])) is not None


def test_a_way_that_keeps_the_margin_is_clear(clearance: Clearance) -> None:
    assert not crossed(clearance, way(0.05, 0.011))
    assert crossed(clearance, way(0.05, 0.009))


def test_an_arm_that_is_too_near_may_stand_and_retreat_but_not_come_nearer(
    clearance: Clearance,
) -> None:
    assert not crossed(clearance, way(0.005, 0.005))
    assert not crossed(clearance, way(0.005, 0.05))
    assert crossed(clearance, way(0.005, 0.003))


@pytest.mark.parametrize("slip_mm", [0.1, 0.4, 0.6, 0.8, 0.99, 1.2, 5.0])
def test_the_wall_may_come_nearer_by_any_amount_and_the_way_back_stays_open(
    clearance: Clearance, slider: Slider, slip_mm: float
) -> None:
    assert not crossed(clearance, way(0.005, 0.005))
    slider.wall_m += slip_mm / 1e3
    clearance.forget()
    assert not crossed(clearance, way(0.005, 0.005))
    assert not crossed(clearance, way(0.005, 0.05))
    assert crossed(clearance, way(0.005, 0.003))


def test_many_small_motions_do_not_creep_nearer(clearance: Clearance) -> None:
    here = 0.005
    for _ in range(500):
        nearer = here - 2e-4
        if not crossed(clearance, way(here, nearer)):
            here = nearer
    assert here > 0.004
