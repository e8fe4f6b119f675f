"""Trace causes: faults planted by configuration, and whether `trace why` names them."""

from __future__ import annotations

import json
import tempfile
import textwrap
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from interlock.benchmarks.arena_graph import NODES, dataflow
from interlock.benchmarks.report import finish, json_option
from interlock.nodes._lockstep import Lockstep
from interlock.operators.trace import Trace
from interlock.operators.trace.explain import explain

LIMIT_NS = 12_000_000_000
STEP_NS = 20_000_000
HEAD = """
import asyncio
from interlock.policies.program import start
from interlock.policies.skills import *

"""
PICK = """
async def main():
    await start(Grasp("cup_red"))
    await start(Lift())
    await start(Place("tray"))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One planted fault.

    Attributes:
        cause: What `trace why` should say.
        program: The program that runs into it.
        at_s: When it happens, in s.
        action: ``hide``, ``put``, ``kill`` (the tracker), or "" for none.
        policy: Settings of the policy node.
        operator: What a person does: ``stop``, ``cancel`` or "".
        rival: True when another program holds the robot.
    """

    cause: str
    program: str = PICK
    at_s: float = 0.0
    action: str = ""
    policy: dict[str, Any] = field(default_factory=dict)
    operator: str = ""
    rival: bool = False


def _moves(*targets: str) -> tuple[Fault, ...]:
    return tuple(
        Fault(cause="refusal", program=f"\nasync def main():\n    await start(MoveTo({t}))\n")
        for t in targets
    )


CANCELS = """
async def main():
    task = start(MoveTo((0.5, {y}, 0.25)))
    await asyncio.sleep({s})
    await task.cancel("no longer wanted")
    await task
"""

WAITS = """
async def main():
    await asyncio.sleep(0.3)
    async with asyncio.timeout({s}):
        await start(Grasp("cup_red"))
"""
RIVAL = """
async def main():
    await start(Follow("cup_blue", duration_s=4.0))
"""

FAULTS: tuple[Fault, ...] = (
    *(Fault(cause="stale_data", at_s=t, action="hide") for t in (0.3, 0.7, 1.1)),
    *_moves("(0.45, 0.0, -0.03)", "(0.38, 0.17, 0.05)", "(0.3, 0.38, 0.0)"),
    *(
        Fault(cause="cancelled", program=CANCELS.format(y=y, s=s))
        for y, s in ((-0.2, 0.3), (0.25, 0.4), (-0.3, 0.6))
    ),
    *(Fault(cause="cancelled", at_s=t, operator="cancel") for t in (0.5, 0.9, 3.0)),
    # The owner is heard from every 20 ms, so these leases run out.
    *(Fault(cause="cancelled", policy={"LEASE_MS": ms}) for ms in (10, 13, 16)),
    *(Fault(cause="lost_authority", program=WAITS.format(s=s), rival=True) for s in (1.0, 1.5, 2)),
    *(Fault(cause="operator_stop", at_s=t, operator="stop") for t in (0.5, 1.0, 3.2)),
    *(Fault(cause="slipped", at_s=t, action="put") for t in (2.9, 3.4, 3.9)),
    *(Fault(cause="dead_node", at_s=t, action="kill") for t in (0.3, 0.6, 1.0)),
    *(Fault(cause="late_policy", policy={"LOCKSTEP_THINKING_MS": ms}) for ms in (1200, 1500, 2500)),
)


def name_cause(fault: Fault) -> str:
    """Run a fault with its trace and return the cause that is named; "" when nothing failed."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program.py"
        program.write_text(HEAD + textwrap.dedent(fault.program), encoding="utf-8")
        graph = _graph(fault, program)
        run = Lockstep(graph, dataflow_dir=Path(folder), run_dir=Path(folder) / "run")
        run.start()
        done = False
        while run.now_ns < LIMIT_NS and not run.done:
            run.run_until(run.now_ns + STEP_NS)
            if not done and run.now_ns >= fault.at_s * 1e9:
                done = True
                _act(run, fault.action)
            owners = [run.node(n) for n in ("policy", "rival")[: 1 + fault.rival]]
            if all(owner.finished or owner.failed for owner in owners):
                run.run_until(run.now_ns + 10 * STEP_NS)
                break
        run.stop()
        return explain(Trace(Path(folder) / "run")).cause


def _act(run: Lockstep, action: str) -> None:
    if action == "hide":
        run.node("eyes").hidden.add("cup_red")
    elif action == "kill":
        run.node("tracker").failed = "killed by signal 9"
    elif action == "put":
        pose = [0.5, -0.1, 0.051, 1.0, 0.0, 0.0, 0.0]
        values = {"name": "cup_red", "world_from_object": pose}
        run.node("simulator").driver.disturb("put", values)


def _graph(fault: Fault, program: Path) -> dict[str, Any]:
    settings = {"POLICY": "program", "PROGRAM": str(program)} | fault.policy
    graph = dataflow(settings, scene="tabletop", layout_seed=0)
    nodes = {node["id"]: node for node in graph["nodes"]}
    if fault.operator:
        nodes["gate"]["inputs"] |= {
            "operator_stop": "operator/stop",
            "cancel_operator": "operator/cancel",
        }
        nodes["gate"]["env"] |= {"OPERATORS": "operator"}
        graph["nodes"].append(
            {
                "id": "operator",
                "path": str(Path(__file__).parent / "operator_node.py"),
                "inputs": {"tick": "dora/timer/millis/20", "grant": "gate/grant"},
                "outputs": ["stop", "cancel"],
                "env": {"AT_S": fault.at_s, "ACTION": fault.operator},
            }
        )
    if fault.rival:
        _add_rival(graph, nodes, program.with_name("rival.py"))
    inputs = {
        f"{node['id']}_{output}": f"{node['id']}/{output}"
        for node in graph["nodes"]
        for output in node["outputs"]
    }
    graph["nodes"].append(
        {
            "id": "trace",
            "path": str(NODES / "trace_sink.py"),
            "inputs": {"tick": "dora/timer/millis/100", **inputs},
            "outputs": ["event"],
        }
    )
    return graph


def _add_rival(graph: dict[str, Any], nodes: dict[str, Any], program: Path) -> None:
    """Add a second policy that holds the robot from the start."""
    program.write_text(HEAD + RIVAL, encoding="utf-8")
    rival = json.loads(json.dumps(nodes["policy"])) | {"id": "rival"}
    rival["env"]["PROGRAM"] = str(program)
    nodes["gate"]["inputs"] |= {
        f"{name}_rival": f"rival/{name}" for name in ("command", "request", "heartbeat", "cancel")
    }
    graph["nodes"].append(rival)


@click.command("trace-causes")
@json_option
def command(json_file: Path | None) -> None:
    """Plant faults and see whether `interlock trace why` names them."""
    with ProcessPoolExecutor(max_workers=2) as pool:
        named = list(pool.map(name_cause, FAULTS))
    rows = [_row(c, named) for c in dict.fromkeys(fault.cause for fault in FAULTS)]
    total = {key: sum(row[key] for row in rows) for key in ("n", "named", "unknown", "wrong")}
    finish([*rows, {"name": "all", **total}], json_file=json_file, seed=0)


def _row(cause: str, named: list[str]) -> dict[str, Any]:
    said = [n for n, fault in zip(named, FAULTS, strict=True) if fault.cause == cause]
    right, unknown = said.count(cause), said.count("unknown") + said.count("")
    wrong = [n for n in said if n not in (cause, "unknown", "")]
    return {
        "name": cause,
        "n": len(said),
        "named": right,
        "unknown": unknown,
        "wrong": len(wrong),
        "said": ",".join(sorted(set(wrong))),
    }
