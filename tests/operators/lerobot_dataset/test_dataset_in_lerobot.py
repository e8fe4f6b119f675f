"""Open a recording in stock LeRobot; skipped where LeRobot is not installed."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from interlock.messages.contract import Contract
from interlock.operators.lerobot_dataset import DatasetWriter

LEROBOT = Path(os.environ.get("INTERLOCK_LEROBOT_PYTHON", "(unset)"))
pytestmark = pytest.mark.skipif(
    not LEROBOT.exists(), reason="set INTERLOCK_LEROBOT_PYTHON to a python with lerobot>=0.4"
)
PROGRAM = """
import json, sys, torch
from lerobot.datasets.lerobot_dataset import LeRobotDataset
data = LeRobotDataset("local/set", root=sys.argv[1], video_backend="pyav",
                      delta_timestamps={"action": [0, 1 / 50, 2 / 50]})
batch = next(iter(torch.utils.data.DataLoader(data, batch_size=4, shuffle=True)))
stats = data.meta.stats["observation.images.image"]
mean, std = torch.tensor(stats["mean"]), torch.tensor(stats["std"])
image = (batch["observation.images.image"] - mean) / std
some = LeRobotDataset("local/set", root=sys.argv[1], episodes=[1], video_backend="pyav")
print(json.dumps({"frames": len(data), "episodes": data.num_episodes, "task": data[0]["task"],
                  "image": list(image.shape), "finite": bool(image.isfinite().all()),
                  "action": list(batch["action"].shape), "some": len(some)}))
"""


def test_stock_lerobot_opens_it_and_makes_a_training_batch(tmp_path: Path) -> None:
    contract = Contract.from_json(
        {
            "control_rate": 50,
            "features": {
                "observation/image": {
                    "role": "observation",
                    "type": "rgb",
                    "dtype": "uint8",
                    "shape": [48, 64, 3],
                },
                "observation/state": {"role": "observation", "dtype": "float32", "shape": [3]},
                "action": {"role": "action", "shape": [2]},
            },
        }
    )
    rng = np.random.default_rng(0)
    with DatasetWriter(tmp_path, contract) as writer:
        for length in (12, 7):
            episode = writer.episode("stack the cups")
            # The camera runs at 30 Hz beside a control rate of 50, and stalls once.
            for step in range(length):
                seen = {
                    "observation/image": rng.integers(0, 255, (48, 64, 3), np.uint8),
                    "observation/state": np.full(3, step, np.float32),
                }
                at_ns = step * 20_000_000 + (400_000_000 if step > 5 else 0)
                episode.add(seen, np.zeros(2, np.float32), observed_ns=at_ns)
            episode.end(success=True)
    done = subprocess.run(
        [str(LEROBOT), "-c", PROGRAM, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert (found["frames"], found["episodes"], found["some"]) == (19, 2, 7)
    assert found["task"] == "stack the cups"
    assert (found["image"], found["finite"]) == ([4, 3, 48, 64], True)
    assert found["action"] == [4, 3, 2]
