"""Drive openpi/0 servers in lockstep, whoever wrote them, and report rate and latency.

Speaks the wire from its description, not through a product's client: send an action, await the
observation, again. Also holds the floor: the smallest server that could answer.
"""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import websockets

from interlock.benchmarks.bridge_env import ACTION, Arm
from interlock.messages.arrays_msgpack import pack, unpack

_PLAIN: dict[str, Any] = {"compression": None, "max_size": None, "ping_interval": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What one run measured.

    Attributes:
        per_s: Round trips of all clients together.
        p50_ms: Median round trip.
        p99_ms: Round trip that 1 in 100 exceeds.
    """

    per_s: float
    p50_ms: float
    p99_ms: float


def drive(url: str, tokens: list[str | None], *, steps: int, warm: int = 50) -> Load:
    """Drive one client per token at once, each for so many steps."""
    return asyncio.run(_drive(url, tokens, steps, warm))


async def _drive(url: str, tokens: list[str | None], steps: int, warm: int) -> Load:
    taken_s: list[float] = []
    walls = await asyncio.gather(*(_client(url, t, steps, warm, taken_s) for t in tokens))
    return summary(taken_s, max(walls))


def summary(taken_s: list[float], wall_s: float) -> Load:
    """Return rate and percentiles of round trips."""
    taken_ms = np.array(taken_s) * 1e3
    p50, p99 = np.percentile(taken_ms, [50, 99])
    return Load(per_s=len(taken_s) / wall_s, p50_ms=float(p50), p99_ms=float(p99))


async def _client(
    url: str, token: str | None, steps: int, warm: int, taken_s: list[float]
) -> float:
    action = pack({"actions": np.zeros(ACTION, np.float32)})
    async with websockets.connect(url, **_PLAIN) as socket:
        first = unpack(await socket.recv(decode=False))
        if token is not None or first.get("claim_required"):
            await socket.send(pack({"claim": token}))
        await socket.recv()
        start_s = time.perf_counter()
        for step in range(warm + steps):
            if step == warm:
                start_s = time.perf_counter()
            sent_s = time.perf_counter()
            await socket.send(action)
            frame = await socket.recv()
            if isinstance(frame, str):
                raise RuntimeError(frame)
            unpack(frame)
            if step >= warm:
                taken_s.append(time.perf_counter() - sent_s)
        return time.perf_counter() - start_s


def serve_floor(announce: Any) -> None:
    """Serve the smallest possible openpi/0 server; ``announce`` gets its address."""
    asyncio.run(_serve_floor(announce))


async def _serve_floor(announce: Any) -> None:
    async def handle(socket: Any) -> None:
        robot = Arm()
        await socket.send(pack({}))
        seen, _ = robot.reset()
        await socket.send(pack({**seen, "terminated": False}))
        async for frame in socket:
            seen, reward, ended, _, _ = robot.step(unpack(frame)["actions"])
            await socket.send(
                pack({**seen, "reward": np.float32(reward), "terminated": bool(ended)})
            )

    async with websockets.serve(handle, "127.0.0.1", 0, **_PLAIN) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        announce(f"ws://127.0.0.1:{port}")
        await asyncio.Event().wait()


def cpu_s(pid: int) -> float:
    """Return the processor time a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
