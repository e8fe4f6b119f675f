"""The peer beside us: HUD's client against our bridge, and HUD's environment under our load.

Runs as a plain script in an environment that has ``hud[robot]``; prints one JSON line per result.

    python bridge_peer.py client URL TOKEN STEPS
    python bridge_peer.py serve ENVIRONMENT_FILE SLOTS
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any


def say(**values: Any) -> None:
    """Print one JSON line."""
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


async def client(url: str, token: str, steps: int) -> None:
    """Drive a bridge with HUD's own client."""
    import numpy

    capabilities = importlib.import_module("hud.capabilities")
    robot = importlib.import_module("hud.capabilities.robot")
    capability = capabilities.Capability.robot(url=url, contract={})
    link = await robot.RobotClient.connect(capability, token=token or None)
    seen = await link.get_observation()
    action, taken = numpy.zeros(7, numpy.float32), []
    for _ in range(steps):
        sent = time.perf_counter()
        await link.send_action(action)
        seen = await link.get_observation()
        taken.append(time.perf_counter() - sent)
    await link.close()
    cut = taken[min(50, steps // 10) :]
    p50, p99 = numpy.percentile(cut, [50, 99]) * 1e3
    say(per_s=len(cut) / sum(cut), p50_ms=float(p50), p99_ms=float(p99), keys=sorted(seen))


async def serve(file: str, slots: int) -> None:
    """Serve an environment with HUD until standard input closes."""
    robot = importlib.import_module("hud.environment.robot")
    gym = importlib.import_module("hud.environment.robot.gym")
    place = f"{file}:make_arm" if slots == 1 else f"{file}:make_arms"
    build = {} if slots == 1 else {"num_envs": slots}
    endpoint = robot.RobotEndpoint.spawn(gym.gym_command(place, contract=None, **build))
    await endpoint.start()
    tokens = [(await endpoint.reset())["token"] for _ in range(slots)]
    say(url=await endpoint.url(), tokens=tokens, pid=_child())
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await endpoint.stop()


def _child() -> int:
    """Return the process of the simulator, whose processor time counts."""
    me = os.getpid()
    return int(Path(f"/proc/{me}/task/{me}/children").read_text().split()[0])


if __name__ == "__main__":
    if sys.argv[1] == "client":
        asyncio.run(client(sys.argv[2], sys.argv[3], int(sys.argv[4])))
    else:
        asyncio.run(serve(sys.argv[2], int(sys.argv[3])))
