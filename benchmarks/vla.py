"""Policy wires: a round trip of two pictures, preprocessing, chunk seams, fuzzed replies.

``floor`` is a bare websockets echo of the same bytes: the request comes back as it went. The
stricter ``floor, ready reply`` sends the 700 bytes of a ready-made reply back instead; neither
encodes or decodes anything. ``stock`` is openpi's own client against the same server, run with the
interpreter of an environment of its own, because it needs an older numpy. Rows of one group take
turns round by round, so that a busy machine slows all of them alike.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import time
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosedError

from interlock.benchmarks.report import finish, json_option, percentiles
from interlock.benchmarks.vla_pure import fuzz_rows, preprocessing_row, seam_row
from interlock.benchmarks.vla_rate import rate_row
from interlock.benchmarks.vla_stock import StockClient
from interlock.policies.vla.codec import pack, unpack
from interlock.policies.vla.wire import WireSettings
from interlock.policies.vla.wires.openpi import OpenpiWire

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from multiprocessing.queues import Queue
    from pathlib import Path

#: Round trips of one row before the next row has its turn.
BLOCK = 10
FLOOR, READY, OURS, STOCK = "floor", "floor, ready reply", "ours (openpi wire)", "stock openpi"


def observation(seed: int) -> dict[str, Any]:
    """Return two pictures, a state and a prompt, as openpi's LIBERO example sends them."""
    rng = np.random.default_rng(seed)
    return {
        "observation/image": rng.integers(0, 256, (224, 224, 3), dtype=np.uint8),
        "observation/wrist_image": rng.integers(0, 256, (224, 224, 3), dtype=np.uint8),
        "observation/state": rng.normal(size=8).astype(np.float32),
        "prompt": "put the red cup on the tray",
    }


def reply() -> dict[str, Any]:
    """Return what a LIBERO server answers."""
    timing = {"infer_ms": 0.1}
    return {"actions": np.zeros((10, 7), np.float32), "server_timing": timing}


async def _serve(port: Queue[int], *, echo: bool) -> None:
    answer = pack(reply())

    async def bare(connection: ServerConnection) -> None:
        await connection.send(pack({}))
        ready = connection.request is not None and connection.request.path == "/ready"
        async for frame in connection:
            await connection.send(answer if ready else frame)

    async def policy(connection: ServerConnection) -> None:
        await connection.send(pack({}))
        # The stock client is killed at the end, without a goodbye.
        with contextlib.suppress(ConnectionClosedError):
            async for frame in connection:
                unpack(bytes(frame) if not isinstance(frame, str) else b"")
                await connection.send(pack(reply()))

    handler = bare if echo else policy
    options: dict[str, Any] = {"compression": None, "max_size": 64 << 20, "ping_interval": None}
    async with serve(handler, "127.0.0.1", 0, **options) as server:
        port.put(next(iter(server.sockets)).getsockname()[1])
        await asyncio.Event().wait()


def _run_server(port: Queue[int], echo: bool) -> None:
    asyncio.run(_serve(port, echo=echo))


@contextlib.contextmanager
def server(*, echo: bool) -> Iterator[str]:
    """Run a server in a process of its own; gives its URL."""
    context = multiprocessing.get_context("spawn")
    port: Queue[int] = context.Queue()
    process = context.Process(target=_run_server, args=(port, echo), daemon=True)
    process.start()
    try:
        yield f"ws://127.0.0.1:{port.get(timeout=30)}"
    finally:
        process.kill()
        process.join()


async def _timed(ask: Callable[[], Awaitable[Any]], n: int) -> list[float]:
    times = []
    for _ in range(n):
        started = time.perf_counter()
        await ask()
        times.append(time.perf_counter() - started)
    return times


async def _round_trips(
    echo_url: str, policy_url: str, seen: dict[str, Any], n: int, stock: StockClient
) -> dict[str, list[float]]:
    frame = pack(seen)
    wire = OpenpiWire(WireSettings(kind="openpi", url=policy_url))
    await wire.connect()
    options: dict[str, Any] = {"compression": None, "max_size": None, "ping_interval": None}
    async with (
        connect(echo_url, proxy=None, **options) as echo,
        connect(f"{echo_url}/ready", proxy=None, **options) as ready,
    ):

        async def bare(connection: ClientConnection) -> None:
            await connection.send(frame)
            await connection.recv()

        asks: dict[str, Callable[[], Awaitable[Any]]] = {
            FLOOR: lambda: bare(echo),
            READY: lambda: bare(ready),
            OURS: lambda: wire.infer(seen),
        }
        await echo.recv()
        await ready.recv()
        times: dict[str, list[float]] = {name: [] for name in (*asks, STOCK)}
        for ask in asks.values():
            await _timed(ask, 20)
        for _ in range(n // BLOCK):
            for name, ask in asks.items():
                times[name] += await _timed(ask, BLOCK)
            times[STOCK] += stock.ask(BLOCK)
    await wire.close()
    return times


def round_trip_rows(n: int, seed: int, stock_python: str | None) -> list[dict[str, Any]]:
    """Return the rows of the round trip, with ours against the floor in the same run."""
    seen = observation(seed)
    with (
        server(echo=True) as echo_url,
        server(echo=False) as policy_url,
        StockClient(stock_python, policy_url, seen) as stock,
    ):
        times = asyncio.run(_round_trips(echo_url, policy_url, seen, n, stock))
    floor = float(np.median(times[FLOOR]))
    return [
        percentiles(name, took, of_floor=round(float(np.median(took)) / floor, 3))
        if took
        else {"name": name, "reason": stock.reason}
        for name, took in times.items()
    ]


@click.command("vla")
@click.option("--n", default=1000, show_default=True, help="Round trips per row.")
@click.option("--seconds", default=10.0, show_default=True, help="Length of the 50 Hz run.")
@click.option("--fuzz", default=2000, show_default=True, help="Broken replies per wire.")
@click.option("--seed", default=0, show_default=True)
@click.option(
    "--stock-python",
    envvar="INTERLOCK_OPENPI_PYTHON",
    help="Interpreter that has openpi-client, for its row.",
)
@json_option
def command(
    n: int,
    seconds: float,
    fuzz: int,
    seed: int,
    stock_python: str | None,
    json_file: Path | None,
) -> None:
    """Measure the policy wires against a bare echo and openpi's own client."""
    rows = [
        *round_trip_rows(n, seed, stock_python),
        preprocessing_row(seed),
        seam_row(seed),
        rate_row(seconds, seed),
        *fuzz_rows(fuzz, seed),
    ]
    finish(rows, json_file=json_file, seed=seed, packages=("pillow", "httpx", "pyzmq"))
