"""Trains a small policy from demonstrations here, serves it, and flies it on unseen layouts.

Demonstrations come from a script in simulation; training is numpy, seeded, minutes on a laptop; the
result is a safetensors file. It is flown like any other VLA: over the openpi wire, through the
preset, the pilot, the Gate and the simulator. `cloning_train.Demos` takes recorded data the same.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

import click
import numpy as np
import yaml

from interlock.benchmarks.cloning_demos import Stage
from interlock.benchmarks.cloning_train import Demos, train
from interlock.benchmarks.report import finish, json_option
from interlock.nodes._lockstep import Lockstep
from interlock.operators.statistics import wilson
from interlock.operators.trace import Trace
from interlock.policies.vla.cloned import Cloned
from interlock.policies.vla.servers.stand import Stand, serving

#: Layouts of demonstrations start here; those that are flown start at 0.
FIRST_DEMO_SEED = 10_000
LIMIT_S = 24.0
_GRAPH = Path(__file__).resolve().parents[1] / "configs" / "dataflows" / "vla-openpi.yml"
_ENV: dict[str, dict[str, Any]] = {
    "policy": {"PRESET": "interlock/panda_cloned", "MAX_STEPS": 1000, "LOCKSTEP_ANSWER_MS": 20},
    "camera_front": {"WIDTH": 64, "HEIGHT": 64},
    "camera_top": {"CAMERA": "side", "WIDTH": 64, "HEIGHT": 64},
}


def collect(n: int) -> Demos:
    """Return so many demonstrations, each on a layout of its own."""
    stage = Stage()
    demos = [stage.demonstrate(FIRST_DEMO_SEED + i) for i in range(n)]
    return Demos(
        pictures=(
            np.concatenate([d.front for d in demos]),
            np.concatenate([d.side for d in demos]),
        ),
        state=np.concatenate([d.state for d in demos]),
        chunks=np.concatenate([d.chunks for d in demos]),
    )


def fly(policy: Cloned, seed: int, folder: Path) -> dict[str, Any]:
    """Fly one layout in lockstep; return whether the red cup stands on the tray."""
    dataflow = yaml.safe_load(_GRAPH.read_text(encoding="utf-8"))
    for node in dataflow["nodes"]:
        if node["id"] in ("camera_front", "camera_top"):
            node["inputs"]["tick"] = "dora/timer/millis/50"
    with serving(Stand(kind="openpi", behaviour=policy)) as url:
        os.environ["INTERLOCK_VLA_URL"] = url
        env = {**_ENV, "simulator": {"LAYOUT_SEED": seed}}
        run = Lockstep(
            dataflow, dataflow_dir=_GRAPH.parent, run_dir=folder, seed=seed, extra_env=env
        )
        run.start()
        while not run.done and run.now_ns < LIMIT_S * 1e9:
            run.run_until(run.now_ns + 100_000_000)
        run.stop()
    trace = Trace(folder)
    first, *_, last = trace.messages(outputs=["tracker/objects"])
    red = last.message.names.index("cup_red")
    began, cup = (m.message.world_from_object[red][:3] for m in (first, last))
    verdicts = [r.message for r in trace.messages(outputs=["gate/verdict"])]
    return {
        "success": bool(abs(cup[0] - 0.30) < 0.12 and abs(cup[1] - 0.38) < 0.09 and cup[2] < 0.09),
        "from": [round(float(v), 3) for v in began],
        "to": [round(float(v), 3) for v in cup],
        "refused": sum(not v.admitted for v in verdicts),
        "commands": len(verdicts),
        "first_refusal": next((v.sentence for v in verdicts if not v.admitted), ""),
        "failure": "; ".join(run.failures),
    }


@click.command("cloning")
@click.option("--demos", default=120, show_default=True, help="Demonstrations to learn from.")
@click.option("--layouts", default=20, show_default=True, help="Unseen layouts to fly.")
@click.option("--seed", default=0, show_default=True, help="Seed of the training.")
@click.option(
    "--weights",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("out/cloned.safetensors"),
    show_default=True,
    help="Where the policy is saved; read instead of trained with --demos 0.",
)
@json_option
def command(demos: int, layouts: int, seed: int, weights: Path, json_file: Path | None) -> None:
    """Clone a policy from demonstrations and fly it on layouts that it has not seen."""
    rows: list[dict[str, Any]] = []
    if demos:
        started = time.perf_counter()
        data = collect(demos)
        collected = time.perf_counter()
        policy = train(data, seed=seed, tell=lambda line: click.echo(line, err=True))
        policy.save(weights)
        took = {"collect_s": collected - started, "train_s": time.perf_counter() - collected}
        rows.append({"name": f"training on {demos} demonstrations", **took})
    policy = Cloned.load(weights)
    won = refused = 0
    with tempfile.TemporaryDirectory() as folder:
        for layout in range(layouts):
            result = fly(policy, layout, Path(folder) / str(layout))
            won, refused = won + result["success"], refused + result["refused"]
            click.echo(f"layout {layout}: {result}", err=True)
    interval = wilson(won, layouts)
    rows.append(
        {
            "name": "cloned policy, unseen layouts",
            "success": won / layouts,
            "low": interval.low,
            "high": interval.high,
            "n": layouts,
            "refused": refused,
        }
    )
    finish(rows, json_file=json_file, seed=seed, packages=("safetensors",))
