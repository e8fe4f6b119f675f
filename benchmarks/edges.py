"""`interlock bench edges`: what stamps and codec cost on a dora edge, and lockstep on the physics.

Everything of one comparison is measured in the same run, in turn: a bare dora edge, the same edge
with our stamps, and a raw unix socket; lockstep against a bare `mj_step` loop of the same model.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
import yaml

from interlock.benchmarks.report import finish, json_option
from interlock.cli.dora_tool import dora_environment, dora_program
from interlock.cli.run_folder import run_environment
from interlock.messages import AdmittedCommand, InterlockError, RobotState
from interlock.operators.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SIZES = {"small": 1008, "image": 150_528}
#: The first messages of an edge set it up.
WARM_UP = 20


@click.command("edges")
@click.option("--count", default=600, show_default=True, help="Messages of each kind.")
@click.option("--rate-hz", default=200.0, show_default=True, help="Messages per second in all.")
@click.option("--seed", default=0, show_default=True)
@click.option("--skip-run", is_flag=True, help="Leave out the run of the default dataflow.")
@json_option
def command(count: int, rate_hz: float, seed: int, skip_run: bool, json_file: Path | None) -> None:
    """Compare edges with and without our stamps, a socket, and lockstep with bare physics."""
    rows = edge_rows(count, rate_hz)
    rows += [_socket_row(name, size, count, rate_hz) for name, size in SIZES.items()]
    rows += lockstep_rows(seed)
    if not skip_run:
        rows += run_rows()
    finish(rows, json_file=json_file, seed=seed)


def edge_rows(count: int, rate_hz: float) -> list[dict[str, Any]]:
    """Measure bare and stamped messages on the edges of one dataflow, in turn."""
    names = [f"{kind}_{size}" for size in SIZES for kind in ("bare", "stamped")]
    with tempfile.TemporaryDirectory(prefix="interlock-edges-") as folder:
        result = Path(folder) / "result.json"
        nodes: list[dict[str, Any]] = [
            {
                "id": "ping",
                "path": str(HERE / "edge_ping.py"),
                "env": {"COUNT": str(count + WARM_UP), "RATE_HZ": str(rate_hz)},
                "outputs": names,
            },
            {
                "id": "pong",
                "path": str(HERE / "edge_pong.py"),
                "env": {"RESULT": str(result)},
                "inputs": {n: {"source": f"ping/{n}", "queue_size": 100} for n in names},
            },
        ]
        file = Path(folder) / "edges.yml"
        file.write_text(yaml.safe_dump({"nodes": nodes}))
        dora_run(file, run_environment(Path(folder) / "run", 0), timeout_s=60 + 8 * count / rate_hz)
        taken = json.loads(result.read_text())
    rows = []
    for size, nbytes in SIZES.items():
        bare, stamped = (taken[f"{kind}_{size}"][WARM_UP:] for kind in ("bare", "stamped"))
        rows.append(_row(f"dora edge, bare, {nbytes} B", bare))
        over = float(np.median(stamped) / np.median(bare) - 1)
        rows.append(_row(f"dora edge, stamped, {nbytes} B", stamped, over_bare=round(over, 3)))
    return rows


def _socket_row(name: str, size: int, count: int, rate_hz: float) -> dict[str, Any]:
    """Measure half a ping-pong over a unix socket between two processes."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    child = os.fork()
    if child == 0:
        ours.close()
        while data := _read(theirs, size):
            theirs.sendall(data)
        os._exit(0)
    theirs.close()
    content, taken, due = os.urandom(size), [], time.monotonic()
    for _ in range(count):
        due += 1 / rate_hz
        time.sleep(max(0.0, due - time.monotonic()))
        began_ns = time.monotonic_ns()
        ours.sendall(content)
        _read(ours, size)
        taken.append((time.monotonic_ns() - began_ns) / 2)
    ours.close()
    os.waitpid(child, 0)
    return _row(f"unix socket, {size} B", taken)


def _read(stream: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = stream.recv(size - len(data))
        if not part:
            return b""
        data += part
    return bytes(data)


def lockstep_rows(seed: int) -> list[dict[str, Any]]:
    """Measure steps per second of the whole graph in lockstep, and of `mj_step` alone.

    The bare loop repeats the run's own steps: same start, same controls and forces.
    """
    from interlock.nodes._lockstep import Lockstep
    from interlock.robots.physics import mujoco

    with tempfile.TemporaryDirectory(prefix="interlock-lockstep-") as folder:
        graph: dict[str, Any] = {"dataflow_dir": ROOT, "seed": seed}
        run = Lockstep(_without_camera(), run_dir=Path(folder) / "run", **graph)
        took_s = _time_of(run)
        again = Lockstep(_without_camera(), run_dir=Path(folder) / "again", **graph)
        step, inputs = mujoco.mj_step, []

        def noting(model: Any, data: Any, nstep: int = 1) -> None:
            inputs.append((data.ctrl.copy(), data.qfrc_applied.copy(), nstep))
            step(model, data, nstep)

        world = again.node("simulator").driver.world
        start = mujoco.MjData(world.model)
        mujoco.mj_copyData(start, world.model, world.data)
        mujoco.mj_step = noting
        try:
            _time_of(again)
        finally:
            mujoco.mj_step = step
    began = time.perf_counter()
    for ctrl, force, nstep in inputs:
        start.ctrl[:], start.qfrc_applied[:] = ctrl, force
        step(world.model, start, nstep)
    bare_s = time.perf_counter() - began
    steps = sum(n for _, _, n in inputs)
    share = round(bare_s / took_s, 3)
    whole = {"name": "lockstep, Gate, tracker and trace", "per_s": round(steps / took_s, 1)}
    return [
        {"name": "the same steps, mj_step alone", "per_s": round(steps / bare_s, 1), "n": steps},
        {**whole, "n": steps, "share_of_bare": share},
    ]


def _time_of(run: Any) -> float:
    """Run a lockstep graph to its end; return how long it took, in s."""
    began = time.perf_counter()
    run.start()
    while not run.done and run.now_ns < 60e9:
        run.run_until(run.now_ns + 100_000_000)
    run.stop()
    return time.perf_counter() - began


def _without_camera() -> dict[str, Any]:
    dataflow: dict[str, Any] = yaml.safe_load((ROOT / "dataflow.yml").read_text())
    nodes = [n for n in dataflow["nodes"] if n["id"] != "camera"]
    for node in nodes:
        if node["id"] == "tracker":
            node["env"] = {"SOURCE": "truth"}
            state = {"source": "simulator/state", "queue_size": 1}
            node["inputs"] = {"tick": "dora/timer/millis/100", "state": state}
        inputs = node["inputs"]
        node["inputs"] = {k: v for k, v in inputs.items() if "camera/" not in str(v)}
    return {"nodes": nodes}


def run_rows() -> list[dict[str, Any]]:
    """Run the default dataflow: its first motion, and policy -> Gate -> simulator."""
    with tempfile.TemporaryDirectory(prefix="interlock-run-") as folder:
        run_dir = Path(folder) / "run"
        began_ns = time.monotonic_ns()
        dora_run(ROOT / "dataflow.yml", run_environment(run_dir, 0), timeout_s=120)
        trace = Trace(run_dir)
        states = trace.of(RobotState)
        moving = next(s for s in states if s.message.executing >= 0)
        first_s = (moving.stamp.sent_ns - began_ns) / 1e9
        commands = trace.of(AdmittedCommand)
        asked = [next((b for b in c.stamp.basis if b.output == "command"), None) for c in commands]
        pairs = [(c, b, trace.find(b)) for c, b in zip(commands, asked, strict=True) if b]
        to_gate = [b.received_ns - m.stamp.sent_ns for _, b, m in pairs if m is not None]
        judged = [c.stamp.sent_ns - b.received_ns for c, b, _ in pairs]
        to_driver = [c.received_ns - c.stamp.sent_ns for c in commands]
    total = [sum(x) for x in zip(to_gate, judged, to_driver, strict=False)]
    return [
        {"name": "dora run to the first motion", "s": round(first_s, 2)},
        _row("policy -> Gate, command", to_gate),
        _row("Gate, from command to sealed command", judged),
        _row("Gate -> simulator and trace, sealed command", to_driver),
        _row("policy -> Gate -> simulator", total),
    ]


def dora_run(file: Path, environ: dict[str, str], *, timeout_s: float) -> None:
    """Run a dataflow to its end.

    Raises:
        InterlockError: If it fails.
    """
    done = subprocess.run(
        [dora_program(), "run", str(file)],
        env=dora_environment(environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    if done.returncode != 0:
        raise InterlockError(
            f"dora run {file.name} ended with {done.returncode}: {done.stdout[-300:]}"
        )


def _row(name: str, taken_ns: Sequence[float], **more: Any) -> dict[str, Any]:
    ms = np.array(taken_ns) / 1e6
    row = {"name": name, "p50_ms": round(float(np.percentile(ms, 50)), 3)}
    row["p99_ms"] = round(float(np.percentile(ms, 99)), 3)
    return row | {"n": len(ms)} | more
