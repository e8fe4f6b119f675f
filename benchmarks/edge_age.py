"""`interlock bench age`: how old is what a slow reader uses, and does its memory stay flat?"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import click
import numpy as np
import yaml

from interlock.benchmarks.edges import dora_run
from interlock.benchmarks.report import finish, json_option
from interlock.cli.run_folder import run_environment

HERE = Path(__file__).resolve().parent
#: The first steps are start-up.
WARM_UP = 5


@click.command("age")
@click.option("--seconds", default=20.0, show_default=True, help="How long; 300 for the figure.")
@click.option("--camera-hz", default=60, show_default=True)
@click.option("--reader-hz", default=5.0, show_default=True)
@json_option
def command(seconds: float, camera_hz: int, reader_hz: float, json_file: Path | None) -> None:
    """Let a reader be busy between pictures of a fast camera."""
    with tempfile.TemporaryDirectory(prefix="interlock-age-") as folder:
        row = measure(Path(folder), seconds, camera_hz, reader_hz)
    finish([row], json_file=json_file, seed=0)


def measure(folder: Path, seconds: float, camera_hz: int, reader_hz: float) -> dict[str, Any]:
    """Run camera and reader; return ages in ms and in camera periods, memory in MB."""
    result = folder / "result.json"
    camera = {
        "id": "camera",
        "path": str(HERE.parent / "nodes" / "hub_camera.py"),
        # The event input only makes dora end the camera with the reader.
        "inputs": {"tick": f"dora/timer/hz/{camera_hz}", "end": "reader/event"},
        "outputs": ["image"],
        "shared_memory_pool_size": "64MB",
    }
    reader = {
        "id": "reader",
        "path": str(HERE / "slow_reader.py"),
        "env": {"RESULT": str(result), "BUSY_S": 1 / reader_hz, "SECONDS": seconds},
        "inputs": {
            "tick": "dora/timer/millis/100",
            "image": {"source": "camera/image", "queue_size": 1},
        },
        "outputs": ["event"],
    }
    file = folder / "age.yml"
    file.write_text(yaml.safe_dump({"exit_when_nodes_finish": True, "nodes": [camera, reader]}))
    dora_run(file, run_environment(folder / "run", 0), timeout_s=seconds + 60)
    found = json.loads(result.read_text())
    ages = np.array(found["ages_ns"][WARM_UP:]) / 1e6
    memory = np.array(found["memory"][WARM_UP:]) / 1e6
    return {
        "name": f"camera {camera_hz} Hz, reader {reader_hz:g} Hz, {seconds:g} s",
        "p50_ms": round(float(np.percentile(ages, 50)), 2),
        "p99_ms": round(float(np.percentile(ages, 99)), 2),
        "p50_periods": round(float(np.percentile(ages, 50)) * camera_hz / 1e3, 2),
        "p99_periods": round(float(np.percentile(ages, 99)) * camera_hz / 1e3, 2),
        "n": len(ages),
        "memory_mb": round(float(memory[0]), 1),
        "memory_grown_mb": round(float(memory[-1] - memory[0]), 1),
    }
