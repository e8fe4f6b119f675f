"""`configs/dataflows/two-machines.yml` on two daemons of this host."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from interlock.cli.dora_tool import dora_environment, dora_program
from interlock.cli.run_folder import transport_overlay
from interlock.cli.run_processes import kill_all
from interlock.messages import ObjectPoses
from interlock.operators.trace import Trace

pytestmark = pytest.mark.dora
ROOT = Path(__file__).parents[2]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return str(server.getsockname()[1])


@pytest.fixture
def two_daemons(tmp_path):
    """Start a coordinator and the daemons `robot` and `desk`; yield a function that runs dora."""
    port, peer = free_port(), f"tcp/127.0.0.1:{free_port()}"
    environ = dora_environment(
        {
            "HOME": str(tmp_path),
            "XDG_CONFIG_HOME": str(tmp_path / ".config"),
            "DORA_COORDINATOR_PORT": port,
            "DORA_ZENOH_CONFIG_OVERLAY": str(transport_overlay()),
            "INTERLOCK_STARTED": "1",
            "INTERLOCK_RUN_DIR": str(tmp_path / "run"),
        }
    )
    for room in ("nodes", "operators"):
        (tmp_path / room).symlink_to(ROOT / room)
    started = []

    def begin(*words):
        log = (tmp_path / f"{'-'.join(words[:2])}{len(started)}.log").open("wb")
        command = [dora_program(), *words]
        # Where a daemon runs, `_work/<id>/../../nodes` must be our nodes.
        options = {"env": environ, "cwd": tmp_path, "stdout": log, "stderr": log}
        started.append(subprocess.Popen(command, start_new_session=True, **options))

    begin("coordinator", "--port", port)
    time.sleep(1.0)
    for machine in ("robot", "desk"):
        addresses = ["--coordinator-addr", "127.0.0.1", "--coordinator-port", port]
        ports = ["--local-listen-port", free_port(), "--zenoh-peer", peer, "--zenoh-no-multicast"]
        begin("daemon", "--machine-id", machine, *addresses, *ports)
    time.sleep(2.0)

    def dora(*words):
        return subprocess.run(
            [dora_program(), *words],
            env=environ,
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    yield dora
    for process in reversed(started):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
        process.wait()
    kill_all(tmp_path / "run")


def test_robot_and_policy_run_on_two_daemons(two_daemons, tmp_path):
    file = ROOT / "configs/dataflows/two-machines.yml"
    done = two_daemons("start", str(file), "--name", "two", "--attach")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    trace = Trace(tmp_path / "run")
    poses = trace.of(ObjectPoses)[-1].message
    x, y = poses.world_from_object[poses.names.index("cup_red"), :2]
    assert abs(x - 0.30) < 0.12
    assert abs(y - 0.38) < 0.12
    ended = (tmp_path / "run" / "events" / "policy.jsonl").read_text().splitlines()[-1]
    assert json.loads(ended)["status"] == "finished"
