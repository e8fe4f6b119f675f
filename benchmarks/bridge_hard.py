"""What a bridge must survive: a simulator killed mid-step, and a flood of mutated frames."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import websockets
from websockets.exceptions import ConnectionClosed

from interlock.benchmarks import bridge_env
from interlock.benchmarks.wire_fuzz import mutated
from interlock.messages.arrays_msgpack import pack, unpack
from interlock.policies.robot import RobotClient, RobotLostError
from interlock.robots.bridge import gym

if TYPE_CHECKING:
    from interlock.robots.bridge import RobotEndpoint

_ENVIRONMENT = Path(bridge_env.__file__)
_ZERO = np.zeros(bridge_env.ACTION, np.float32)
_BURST = 20
_CLIENTS = 8
_WITNESS_S = 0.05
_REQUEST = b'{"jsonrpc":"2.0","id":1,"method":"result","params":{"token":"slot-0-ab12"}}'


def kill_9(rounds: int = 3) -> dict[str, Any]:
    """Kill the simulator during an episode; how long until the client raises."""
    taken_ms = [asyncio.run(_killed()) for _ in range(rounds)]
    return {"p50_ms": round(float(np.median(taken_ms)), 2), "p99_ms": round(max(taken_ms), 2)}


async def _killed() -> float:
    with gym(f"{_ENVIRONMENT}:make_arm") as robot:
        token = robot.reset()["token"]
        client = await RobotClient.connect(robot.url, token=token)
        await client.get_observation()
        await client.step(_ZERO)
        await client.send_action(_ZERO)
        os.kill(robot.pid, signal.SIGKILL)
        killed_s = time.perf_counter()
        try:
            async with asyncio.timeout(10):
                while True:
                    await client.get_observation()
        except RobotLostError:
            return (time.perf_counter() - killed_s) * 1e3


def fuzz(frames: int, *, seed: int = 0) -> dict[str, Any]:
    """Send mutated frames to both planes while a witness drives a slot of its own.

    Returns:
        Frames sent, replies that held a traceback, and whether the witness went on.
    """
    with gym(f"{_ENVIRONMENT}:make_arm", num_envs=2) as robot:
        start_s = time.perf_counter()
        found = asyncio.run(_flood(robot, frames, seed))
        took_s = time.perf_counter() - start_s
    return {**found, "per_s": round(found["frames"] / took_s, 1)}


async def _flood(robot: RobotEndpoint, frames: int, seed: int) -> dict[str, Any]:
    witness = await RobotClient.connect(robot.url, token=robot.reset()["token"])
    await witness.get_observation()
    count = _Count()
    floods = [
        asyncio.create_task(_flood_data(robot, seed + i, frames // 2 // _CLIENTS, count))
        for i in range(_CLIENTS)
    ]
    floods.append(asyncio.create_task(_flood_control(robot, seed, frames - frames // 2, count)))
    steps = 0
    while not all(flood.done() for flood in floods):
        observation = await witness.step(_ZERO)
        steps += 1
        if observation.meta["seq"] != steps:
            count.disturbed += 1
        await asyncio.sleep(_WITNESS_S)
    for flood in floods:
        await flood
    await witness.close()
    return {
        "frames": count.frames,
        "tracebacks": count.tracebacks,
        "disturbed": count.disturbed,
        "witness_steps": steps,
    }


class _Count:
    def __init__(self) -> None:
        self.frames = self.tracebacks = self.disturbed = 0

    def reply(self, reply: bytes | str) -> None:
        text = reply if isinstance(reply, str) else ""
        self.tracebacks += "Traceback" in text or "File " in text


async def _flood_data(robot: RobotEndpoint, seed: int, frames: int, count: _Count) -> None:
    rng = np.random.default_rng(seed)
    claim, action = pack({"claim": "slot-1-0123456789abcdef"}), pack({"actions": _ZERO})
    token: str | None = None
    if seed % _CLIENTS == 0:
        token = (await robot.areset())["token"]
    sent = 0
    while sent < frames:
        async with websockets.connect(robot.url, compression=None, max_size=None) as socket:
            try:
                unpack(await socket.recv(decode=False))
                first = pack({"claim": token}) if token else mutated(rng, claim)
                await socket.send(first)
                for _ in range(_BURST):
                    sent += 1
                    count.frames += 1
                    await socket.send(mutated(rng, action))
                async with asyncio.timeout(5):
                    async for reply in socket:
                        count.reply(reply)
            except (ConnectionClosed, TimeoutError):
                continue


async def _flood_control(robot: RobotEndpoint, seed: int, frames: int, count: _Count) -> None:
    rng = np.random.default_rng(seed)
    sent = 0
    while sent < frames:
        reader, writer = await asyncio.open_connection("127.0.0.1", robot.control_port)
        burst = min(1000, frames - sent)
        for _ in range(burst):
            writer.write(mutated(rng, _REQUEST).replace(b"\n", b"") + b"\n")
        await writer.drain()
        for _ in range(burst):
            count.tracebacks += b"Traceback" in await reader.readline()
        sent += burst
        count.frames += burst
        writer.close()
