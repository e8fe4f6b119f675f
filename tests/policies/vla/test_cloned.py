"""The cloned policy: where its keypoints look, how it is saved, what it answers."""

import numpy as np
import pytest

from interlock.policies.vla.cloned import Cloned, keypoints, shipped_weights
from interlock.policies.vla.errors import PolicyError

RED = np.array([[60.0], [-60.0], [-60.0]], np.float32)


def scene(x, y, size=64):
    """Return a grey picture with a red square whose middle is at pixel (x, y)."""
    picture = np.full((size, size, 3), 120, np.uint8)
    picture[y - 2 : y + 3, x - 2 : x + 3] = (200, 30, 25)
    return picture


def policy(horizon=10):
    rng = np.random.default_rng(0)
    weights = {
        "maps0": RED,
        "maps1": RED,
        "layer0": rng.normal(size=(8, 8)),
        "bias0": np.zeros(8),
        "layer1": np.zeros((8, horizon * 4)),
        "bias1": np.zeros(horizon * 4),
        "mean": np.zeros(8),
        "spread": np.ones(8),
        "out_mean": np.tile([0.1] * 3 + [2.0], horizon),
        "out_spread": np.ones(horizon * 4),
    }
    return Cloned(weights={k: v.astype(np.float32) for k, v in weights.items()}, horizon=horizon)


def observation(**changes):
    pictures = {"observation/front": scene(20, 40), "observation/side": scene(30, 30)}
    return {**pictures, "observation/state": np.linspace(0, 1, 4, dtype=np.float32), **changes}


@pytest.mark.parametrize(("x", "y"), [(20, 40), (50, 12), (31, 31)])
def test_a_keypoint_finds_its_colour_between_pixels(x, y):
    [found] = keypoints(scene(x, y)[np.newaxis], RED)
    np.testing.assert_allclose((found + 1) / 2 * 63, [x, y], atol=0.05)


def test_a_chunk_has_a_row_per_step_and_keeps_the_gripper_within_its_ends():
    rows = policy().act(observation(), 0)
    assert rows.shape == (10, 4)
    np.testing.assert_allclose(rows[:, :3], 0.1, atol=1e-6)
    assert rows[:, 3].tolist() == [1.0] * 10


def test_a_saved_policy_answers_the_same(tmp_path):
    made = policy()
    made.save(tmp_path / "p.safetensors")
    back = Cloned.load(tmp_path / "p.safetensors")
    np.testing.assert_array_equal(back.act(observation(), 0), made.act(observation(), 0))


def test_a_file_that_is_no_policy_is_refused(tmp_path):
    (tmp_path / "p.safetensors").write_bytes(b"no")
    with pytest.raises(PolicyError, match="no cloned policy"):
        Cloned.load(tmp_path / "p.safetensors")


def test_the_shipped_policy_answers_with_moves_of_a_hand():
    state = np.array([1.0, 0.48, 0.0, 0.41], np.float32)
    rows = Cloned.load(shipped_weights()).act(observation(**{"observation/state": state}), 0)
    assert rows.shape == (10, 4)
    assert np.isfinite(rows).all()
