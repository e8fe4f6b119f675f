"""HUD's own client and environments beside ours; skipped where HUD is not installed."""

import asyncio
import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from interlock.benchmarks import bridge_peer
from interlock.benchmarks.bridge_env import Arm
from interlock.messages.contract import Contract
from interlock.policies.robot import FunctionModel, RobotAgent
from interlock.robots.bridge import gym

HUD = Path(os.environ.get("INTERLOCK_HUD_PYTHON", "(unset)"))
ENVIRONMENT = Path(bridge_peer.__file__).with_name("bridge_env.py")
pytestmark = pytest.mark.skipif(
    not HUD.exists(), reason="set INTERLOCK_HUD_PYTHON to a python with hud[robot]==0.6.21"
)


def hud(*arguments: str) -> subprocess.Popen:
    return subprocess.Popen(
        [str(HUD), bridge_peer.__file__, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "HUD_TELEMETRY_ENABLED": "false"},
    )


@pytest.mark.parametrize("pinned", [True, False])
def test_huds_client_drives_our_bridge(pinned: bool) -> None:
    with gym(f"{ENVIRONMENT}:make_arm") as robot:
        token = robot.reset()["token"]
        child = hud("client", robot.url, token if pinned else "", "20")
        line, _ = child.communicate(timeout=60)
    seen = json.loads(line)
    assert seen["per_s"] > 0
    assert {"data", "terminated", "meta"} <= set(seen["keys"])


def test_huds_client_is_told_what_is_wrong() -> None:
    with gym(f"{ENVIRONMENT}:make_arm") as robot:
        child = hud("client", robot.url, "slot-0-nobody", "1")
        child.stderr = None
        child.communicate(timeout=60)
    assert child.returncode != 0


def test_our_agent_drives_huds_environment() -> None:
    child = hud("serve", str(ENVIRONMENT), "1")
    try:
        served = json.loads(next(line for line in child.stdout if line.startswith("{")))
        contract = Contract.from_json(
            {
                "features": {
                    "observation/state": {"role": "observation", "shape": [8]},
                    "action": {"role": "action", "shape": [7]},
                }
            }
        )
        agent = RobotAgent(FunctionModel(lambda seen: np.zeros(7, np.float32)), max_steps=5)
        rollout = asyncio.run(agent.run(served["url"], contract, token=served["tokens"][0]))
        assert rollout.steps == 5
    finally:
        child.communicate(timeout=60)


def test_the_environment_of_the_benchmark_is_sound() -> None:
    seen, _ = Arm().reset()
    assert seen["observation/image"].shape == (224, 224, 3)
