"""Training by cloning: the gradients are right, and it learns to look at what matters."""

import numpy as np
import pytest

from interlock.benchmarks.cloning_demos import OPEN_M, plan
from interlock.benchmarks.cloning_train import (
    Demos,
    _backward,
    _Look,
    _new_net,
    train,
)


def pictures(n, rng):
    """Return pictures with a red square somewhere, and where it is, -1 to 1."""
    found, places = np.full((n, 16, 16, 3), 110, np.uint8), rng.integers(2, 14, (n, 2))
    for picture, (x, y) in zip(found, places, strict=True):
        picture[y - 1 : y + 2, x - 1 : x + 2] = (210, 30, 25)
    return found, (2 * places / 15 - 1).astype(np.float32)


def test_the_gradient_of_the_network_is_that_of_differences():
    rng = np.random.default_rng(0)
    net = _new_net([3, 5, 2], rng)
    inputs, wanted = rng.normal(size=(4, 3)), rng.normal(size=(4, 2)).astype(np.float32)
    _, gradients, _ = _backward(net, inputs, wanted)
    for name in net:
        moved = {k: v.astype(np.float64) for k, v in net.items()}
        moved[name].flat[0] += 1e-3
        up, _, _ = _backward(moved, inputs, wanted)
        moved[name].flat[0] -= 2e-3
        down, _, _ = _backward(moved, inputs, wanted)
        assert abs((up - down) / 2e-3 - gradients[name].flat[0]) < 1e-3


def test_the_gradient_of_keypoints_is_that_of_differences():
    rng = np.random.default_rng(1)
    seen, _ = pictures(3, rng)
    maps = rng.normal(size=(3, 6)).astype(np.float32)
    back = rng.normal(size=(3, 12)).astype(np.float32)
    gradient = _Look(seen, maps).gradient(back)
    for place in [(0, 0), (2, 5)]:
        moved = maps.copy()
        moved[place] += 1e-2
        up = float((_Look(seen, moved).found * back).sum())
        moved[place] -= 2e-2
        down = float((_Look(seen, moved).found * back).sum())
        assert abs((up - down) / 2e-2 - gradient[place]) < 2e-2 * max(1.0, abs(gradient[place]))


def test_it_learns_to_move_toward_what_it_sees_and_repeats_for_a_seed():
    rng = np.random.default_rng(2)
    front, place = pictures(300, rng)
    state = rng.normal(0.0, 0.1, (300, 4)).astype(np.float32)
    command = np.concatenate([np.repeat(place[:, :1], 3, axis=1), np.ones((300, 1))], axis=1)
    chunks = np.repeat(command[:, None].astype(np.float32), 2, axis=1)
    demos = Demos(pictures=(front, front), state=state, chunks=chunks)
    made = [train(demos, seed=3, map_steps=100, net_steps=200) for _ in range(2)]
    seen = {
        "observation/front": front[0],
        "observation/side": front[0],
        "observation/state": state[0],
    }
    first, second = (policy.act(seen, 0) for policy in made)
    np.testing.assert_array_equal(first, second)
    assert abs(float(first[0, 0]) - float(place[0, 0])) < 0.15


TRAY = np.array([0.3, 0.38])
CUP = np.array([0.5, -0.15, 0.05])


@pytest.mark.parametrize(
    ("tool", "width", "cup", "goes", "share"),
    [
        ((0.5, -0.05, 0.2), OPEN_M, CUP, (0, -1), 1.0),
        ((0.5, -0.15, 0.12), OPEN_M, CUP, (2, -1), 1.0),
        ((0.5, -0.15, 0.056), OPEN_M, CUP, None, 0.0),
        ((0.5, -0.15, 0.056), 0.06, CUP, (2, 1), 0.0),
        ((0.5, -0.15, 0.25), 0.06, CUP + np.array([0, 0, 0.2]), (1, 1), 0.0),
        ((0.3, 0.38, 0.07), 0.06, np.array([0.3, 0.38, 0.06]), None, 1.0),
        ((0.3, 0.38, 0.07), OPEN_M, np.array([0.3, 0.38, 0.06]), (2, 1), 1.0),
    ],
)
def test_the_expert_knows_what_is_next_from_anywhere(tool, width, cup, goes, share):
    first = plan(np.array(tool), width, np.array(cup), TRAY)[0]
    assert first[3] == share
    if goes is not None and goes[0]:
        axis, sign = goes
        assert np.sign(first[axis]) == sign
        assert np.argmax(np.abs(first[:3])) == axis
