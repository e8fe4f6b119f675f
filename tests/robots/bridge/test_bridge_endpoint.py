import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from interlock.policies.robot import FunctionModel, RobotAgent, RobotClient, RobotLostError
from interlock.robots.bridge import BridgeError, RobotEndpoint, gym

TARGETS = Path(__file__).with_name("gym_targets.py")
STUBBORN = """
import time
from interlock.robots.bridge import RobotBridge
STATE = {"role": "observation", "dtype": "float32", "shape": [1]}
class Stuck(RobotBridge):
    contract = {"features": {"s": STATE, "action": {"role": "action", "shape": [1]}}}
    def __init__(self, delay_s=3600.0):
        self.delay_s = delay_s
    def reset(self):
        return "wait"
    def step(self, action):
        time.sleep(self.delay_s)
    def get_observation(self):
        import numpy as np
        return {"s": np.zeros(1, np.float32)}, False
def broken():
    raise ValueError("no such scene")
"""


@pytest.fixture
def stuck(tmp_path: Path) -> str:
    (tmp_path / "stuck.py").write_text(STUBBORN)
    return f"{tmp_path / 'stuck.py'}:Stuck"


def test_an_environment_is_a_robot_with_one_call() -> None:
    with gym("CartPole-v1", num_envs=2) as robot:
        contract = robot.contract()
        agent = RobotAgent(FunctionModel(lambda seen: [float(seen["obs"][2] > 0)]))
        started = robot.reset(seed=1)
        rollout = asyncio.run(agent.run(robot.url, contract, token=started["token"]))
        grade = robot.result(started["token"])
    assert rollout.terminated
    assert grade["score"] == rollout.total_reward > 20


def test_the_client_of_a_killed_simulator_raises_at_once(stuck: str) -> None:
    async def drive(robot: RobotEndpoint) -> None:
        async with await RobotClient.connect(robot.url, token=robot.reset()["token"]) as client:
            await client.get_observation()
            await client.send_action(np.zeros(1))
            await asyncio.sleep(0.1)
            os.kill(robot.pid, signal.SIGKILL)
            with pytest.raises(RobotLostError, match="its process ended"):
                async with asyncio.timeout(2):
                    await client.get_observation()

    with RobotEndpoint(stuck) as robot:
        asyncio.run(drive(robot))
        with pytest.raises(BridgeError, match="its process ended"):
            robot.reset(wait_s=0)


def test_others_are_served_while_a_step_takes_its_time(stuck: str) -> None:
    async def drive(robot: RobotEndpoint) -> str:
        client = await RobotClient.connect(robot.url, token=robot.reset()["token"])
        await client.get_observation()
        await client.send_action(np.zeros(1))
        async with asyncio.timeout(10):
            second = await RobotClient.connect(robot.url, token="other")
        with pytest.raises(Exception, match="unknown episode token") as error:
            await second.get_observation()
        return str(error.value)

    with RobotEndpoint(stuck, {"delay_s": 60}) as robot:
        assert "unknown episode token 'other'" in asyncio.run(drive(robot))


def test_why_a_simulator_did_not_start_reaches_the_caller(stuck: str) -> None:
    with pytest.raises(BridgeError, match="did not start: ValueError: no such scene"):
        RobotEndpoint(stuck.replace("Stuck", "broken")).start()
    with pytest.raises(BridgeError, match="needs width"):
        gym(f"{TARGETS}:needs").start()
    with pytest.raises(BridgeError, match="cannot start /no/python"):
        RobotEndpoint(stuck, python=Path("/no/python")).start()


def test_another_interpreter_borrows_the_bridge(stuck: str) -> None:
    with RobotEndpoint(stuck, python=Path(sys.executable)) as robot:
        assert robot.reset()["prompt"] == "wait"


def test_a_simulator_does_not_outlive_its_program(stuck: str) -> None:
    program = (
        "import sys, os\nfrom interlock.robots.bridge import RobotEndpoint\n"
        f"robot = RobotEndpoint({stuck!r}).start()\n"
        "print(robot.pid, flush=True)\nos._exit(1)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False
    )
    pid = int(done.stdout)
    for _ in range(100):
        if not Path(f"/proc/{pid}").exists() or zombie(pid):
            return
        time.sleep(0.05)
    pytest.fail(f"{pid} still runs")


def zombie(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"


def test_an_object_is_refused_with_the_way_out(arm) -> None:
    with pytest.raises(BridgeError, match="pass the class Arm and its arguments"):
        RobotEndpoint(arm())
