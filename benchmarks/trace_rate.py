"""`interlock bench trace`: does every message reach the trace at 1000/s and two cameras?

A real dataflow: one node sends small messages, one sends pictures on two outputs, the trace node
records both. Gaps are counted from the numbers of the messages on disk.
"""

from __future__ import annotations

import os
import resource
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import click
import yaml

from interlock.benchmarks.report import finish
from interlock.cli.dora_tool import dora_environment, dora_program
from interlock.messages import InterlockError
from interlock.operators.latency import measure
from interlock.operators.trace import Trace

HERE = Path(__file__).resolve().parent
TRANSPORT = HERE.parent / "configs" / "transport.json5"


@click.command("trace")
@click.option("--seconds", default=60.0, show_default=True, help="How long to send.")
@click.option("--small-hz", default=1000.0, show_default=True, help="Small messages per second.")
@click.option("--image-hz", default=30.0, show_default=True, help="Pictures per second, twice.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write rows here.")
def command(seconds: float, small_hz: float, image_hz: float, json_file: Path | None) -> None:
    """Record small messages and two cameras; count what is missing."""
    with tempfile.TemporaryDirectory(prefix="interlock-bench-") as folder:
        rows = measure_rows(Path(folder), seconds, small_hz, image_hz)
    finish(rows, json_file=json_file, seed=0)
    lost = sum(row["lost"] for row in rows)
    if lost:
        raise InterlockError(f"{lost} messages never reached the trace")


def measure_rows(
    folder: Path, seconds: float, small_hz: float, image_hz: float
) -> list[dict[str, Any]]:
    """Run the dataflow in a folder and return one row per output."""
    run_dir = folder / "run"
    file = folder / "dataflow.yml"
    file.write_text(yaml.safe_dump(dataflow(seconds, small_hz, image_hz)))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environ = {
        "DORA_ZENOH_CONFIG_OVERLAY": str(TRANSPORT),
        "INTERLOCK_RUN_DIR": str(run_dir),
        "PYTHONSAFEPATH": "1",
    }
    done = subprocess.run(
        [dora_program(), "run", str(file)],
        cwd=folder,
        env=dora_environment(environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds + 60,
        check=False,
    )
    if done.returncode:
        raise InterlockError(f"dora run ended with {done.returncode}: {done.stdout[-500:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return _rows(Trace(run_dir), cpu_s / seconds)


def dataflow(seconds: float, small_hz: float, image_hz: float) -> dict[str, Any]:
    """Return the graph: two senders and the trace."""
    sender = str(HERE / "trace_sender.py")
    ends = {"SECONDS": str(seconds)}
    return {
        "nodes": [
            {
                "id": "small",
                "path": sender,
                "env": ends | {"SMALL_HZ": str(small_hz)},
                "inputs": {"tick": "dora/timer/millis/5"},
                "outputs": ["small"],
            },
            {
                "id": "cameras",
                "path": sender,
                "env": ends | {"IMAGE_HZ": str(image_hz)},
                "inputs": {"tick": "dora/timer/millis/5"},
                "outputs": ["left", "right"],
                "shared_memory_pool_size": "64MB",
            },
            {
                "id": "trace",
                "path": str(HERE.parent / "nodes" / "trace_sink.py"),
                "inputs": {
                    "tick": "dora/timer/millis/100",
                    "small": {"source": "small/small", "queue_size": 20000},
                    "left": {"source": "cameras/left", "queue_size": 300},
                    "right": {"source": "cameras/right", "queue_size": 300},
                },
            },
        ]
    }


def _rows(trace: Trace, cores: float) -> list[dict[str, Any]]:
    size_mb = sum(f.stat().st_size for f in trace.folder.iterdir()) / 1e6
    left_out = trace.summary.get("left_out", -1) + trace.summary.get("pictures_left_out", -1)
    return [
        {
            "name": edge.source,
            "n": edge.count,
            "per_s": round(edge.rate_hz, 1),
            "lost": edge.drops,
            "left_out": left_out,
            "p50_ms": round(edge.p50_ms, 3),
            "p99_ms": round(edge.p99_ms, 3),
            "max_ms": round(edge.max_ms, 3),
            "trace_mb": round(size_mb, 1),
            "cores": round(cores, 2),
            "cpus": os.cpu_count(),
        }
        for edge in measure(trace)
    ]
