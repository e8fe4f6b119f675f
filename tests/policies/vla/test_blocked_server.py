"""A01: a server whose whole process is blocked at the first inference answers no pings.

The control is a plain websockets client with keepalive on: it loses the same healthy server.
"""

import asyncio
import contextlib
import subprocess
import sys

import numpy as np
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosedError

from interlock.policies.vla.client import PolicyClient
from interlock.policies.vla.codec import pack
from interlock.policies.vla.wire import WireSettings

SEEN = {"observation/state": np.zeros(8, np.float32), "prompt": "wait"}


@contextlib.contextmanager
def blocked(first_s):
    words = ["policy", "serve", "scripted", "--port", "0", "--slow-first-s", str(first_s)]
    with subprocess.Popen(
        [sys.executable, "-m", "interlock.cli.main", *words], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


async def with_keepalive(url, **limits):
    async with connect(url, max_size=None, close_timeout=0.1, **limits) as connection:
        await connection.recv()
        await connection.send(pack(SEEN))
        await connection.recv()


async def with_ours(url, **settings):
    async with PolicyClient(WireSettings(kind="openpi", url=url, **settings)) as client:
        return [await client.infer(SEEN, observation_id=i) for i in range(2)], client.counts


def check_ours(url, first_s):
    # The budget of a step is far too small for the warm-up, which has its own.
    answers, counts = asyncio.run(with_ours(url, step_budget_s=first_s / 2))
    assert [a.warmup for a in answers] == [True, False]
    assert (counts.connections, counts.timeouts, counts.errors) == (1, 0, 0)
    assert counts.warmup_s[0] >= first_s > answers[1].roundtrip_s


def test_the_link_survives_where_a_keepalive_would_close_it():
    with blocked(3.0) as url, pytest.raises(ConnectionClosedError, match="1011"):
        asyncio.run(with_keepalive(url, ping_interval=0.3, ping_timeout=0.3))
    with blocked(3.0) as url:
        check_ours(url, 3.0)


@pytest.mark.dora
def test_the_link_survives_45_s_where_the_library_s_defaults_lose_it():
    with blocked(45.0) as url, pytest.raises(ConnectionClosedError, match="1011"):
        asyncio.run(with_keepalive(url))
    with blocked(45.0) as url:
        check_ours(url, 45.0)
