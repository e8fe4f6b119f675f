import os
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

from interlock.policies.robot import Batcher, FunctionModel, Model, ModelError
from interlock.policies.robot.model import stack

LEROBOT = Path(os.environ.get("INTERLOCK_LEROBOT_PYTHON", "(unset)"))
ROOT = Path(__file__).resolve().parents[3]


def double(batch: dict) -> np.ndarray:
    return 2 * batch["x"][:, None, :]


def ask(batcher: Batcher, *values: float) -> list:
    return [batcher.submit({"x": np.array([v], np.float32)}) for v in values]


def test_a_batch_goes_off_when_everyone_in_flight_has_arrived() -> None:
    batcher = Batcher(FunctionModel(double, batchable=True), window_s=3600)
    for _ in range(3):
        batcher.join()
    futures = ask(batcher, 1, 2, 3)
    assert [f.result(5).item() for f in futures] == [2, 4, 6]
    assert batcher.widths == [3]
    batcher.close()


def test_nobody_waits_for_a_caller_that_left() -> None:
    batcher = Batcher(FunctionModel(double, batchable=True), window_s=3600)
    batcher.join()
    batcher.join()
    [future] = ask(batcher, 1)
    batcher.leave()
    assert future.result(5).item() == 2
    batcher.close()


def test_the_window_is_a_cap_for_stragglers() -> None:
    batcher = Batcher(FunctionModel(double, batchable=True), window_s=0.02)
    batcher.join()
    batcher.join()
    [future] = ask(batcher, 1)
    assert future.result(5).item() == 2
    batcher.close()


def test_the_failure_of_one_caller_is_its_own() -> None:
    def picky(batch: dict) -> np.ndarray:
        if (batch["x"] < 0).any():
            raise ValueError("negative")
        return double(batch)

    batcher = Batcher(FunctionModel(picky, batchable=True), window_s=3600)
    for _ in range(3):
        batcher.join()
    good, bad, also_good = ask(batcher, 1, -1, 3)
    assert (good.result(5).item(), also_good.result(5).item()) == (2, 6)
    with pytest.raises(ValueError, match="negative"):
        bad.result(5)
    batcher.close()


def test_callers_with_other_shapes_get_passes_of_their_own() -> None:
    batcher = Batcher(FunctionModel(double, batchable=True), window_s=3600)
    for _ in range(3):
        batcher.join()
    narrow = ask(batcher, 1, 2)
    wide = batcher.submit({"x": np.ones(4, np.float32)})
    assert [f.result(5).shape for f in (*narrow, wide)] == [(1, 1), (1, 1), (1, 4)]
    batcher.close()


def test_the_oldest_go_first_when_not_all_fit() -> None:
    seen, go = [], threading.Event()

    def slow(batch: dict) -> np.ndarray:
        go.wait(5)
        seen.append(batch["x"].ravel().tolist())
        return double(batch)

    batcher = Batcher(FunctionModel(slow, batchable=True), max_batch=2)
    futures = ask(batcher, 0, 1, 2, 3, 4)
    go.set()
    for future in futures:
        future.result(5)
    assert [v for batch in seen for v in batch] == [0, 1, 2, 3, 4]
    assert max(len(batch) for batch in seen) == 2
    batcher.close()


def test_a_model_that_answers_for_others_is_refused() -> None:
    batcher = Batcher(FunctionModel(lambda b: np.zeros((5, 1, 1)), batchable=True))
    with pytest.raises(ModelError, match=r"shape \[5, 1, 1\] for 1 observations"):
        ask(batcher, 1)[0].result(5)
    batcher.close()


def test_only_batchable_models_are_batched() -> None:
    with pytest.raises(ModelError, match="set batchable = True"):
        Batcher(Model())


def test_nested_values_and_text_are_stacked_too() -> None:
    one = {"images": {"top": np.zeros((3, 2))}, "prompt": "a", "n": np.float32(1)}
    batch = stack([one, {**one, "prompt": "b"}])
    assert batch["images"]["top"].shape == (2, 3, 2)
    assert (batch["prompt"], batch["n"].tolist()) == (["a", "b"], [1, 1])


def test_a_closed_batcher_says_so() -> None:
    batcher = Batcher(FunctionModel(double, batchable=True))
    batcher.close()
    with pytest.raises(ModelError, match="closed"):
        ask(batcher, 1)


TORCH = """
import numpy as np, torch
from interlock.policies.robot import Batcher, LeRobotModel

class Policy:
    def predict_action_chunk(self, batch):
        return batch["observation.state"][:, None, :].repeat(1, 5, 1)

    def reset(self):
        pass

batcher = Batcher(LeRobotModel(Policy(), post=lambda chunk: chunk * 2))
batcher.join()
batcher.join()
state = np.arange(3, dtype=np.float32)
state.flags.writeable = False
futures = [batcher.submit({"observation.state": state, "task": "go"}) for _ in range(2)]
assert [f.result(9).shape for f in futures] == [(5, 3)] * 2
assert futures[0].result()[0].tolist() == [0, 2, 4]
futures = [batcher.submit({"observation.state": torch.ones(3)}) for _ in range(2)]
assert futures[0].result(9)[0].tolist() == [2, 2, 2]
print("sound")
"""


@pytest.mark.skipif(
    not LEROBOT.exists(), reason="set INTERLOCK_LEROBOT_PYTHON to a python with lerobot>=0.4"
)
def test_a_lerobot_policy_is_batched_with_torch(tmp_path: Path) -> None:
    package = tmp_path / "interlock"
    package.mkdir()
    for room in ("messages", "operators", "policies"):
        (package / room).symlink_to(ROOT / room)
    done = subprocess.run(
        [str(LEROBOT), "-W", "error::UserWarning", "-c", TORCH],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout == "sound\n", done.stderr[-1000:]
