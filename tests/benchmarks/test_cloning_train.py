"""Training by cloning: the gradients are right, and it learns to look at what matters."""

import numpy as np

from interlock.benchmarks.cloning_train import (
    Demos,
    _backward,
    _Look,
    _new_net,
    chunks_of,
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
    state = rng.normal(0.0, 0.1, (300, 11)).astype(np.float32)
    command = np.concatenate([state[:, :7] * 0 + place[:, :1], np.ones((300, 1))], axis=1)
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


def test_a_chunk_near_the_end_keeps_the_last_command():
    command = np.arange(4.0)[:, None] * np.ones(8)
    chunks = chunks_of([command], 3)
    assert chunks[2, :, 0].tolist() == [2, 3, 3]
