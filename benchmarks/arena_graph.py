"""The graph of an arena: simulator, tracker from the truth, eyes, Gate and one policy node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import interlock.nodes

NODES = Path(interlock.nodes.__file__).parent


def dataflow(policy: dict[str, Any], *, scene: str, layout_seed: int) -> dict[str, Any]:
    """Return the graph: simulator, tracker from the truth, Gate and one policy node."""
    known = {"SCENE": scene}
    gate_inputs = {
        "state": "simulator/state",
        "objects": "eyes/objects",
        "command": "policy/command",
        "request": "policy/request",
        "heartbeat": "policy/heartbeat",
        "cancel": "policy/cancel",
        "tick": "dora/timer/millis/20",
    }
    policy_inputs = {
        "state": "simulator/state",
        "objects": "eyes/objects",
        "verdict": "gate/verdict",
        "grant": "gate/grant",
        "status": "gate/status",
        "tick": "dora/timer/millis/20",
    }
    return {
        "nodes": [
            {
                "id": "simulator",
                "path": str(NODES / "simulator.py"),
                "inputs": {"tick": "dora/timer/millis/20", "command": "gate/command"},
                "outputs": ["state", "event"],
                "env": known | {"LAYOUT_SEED": layout_seed},
            },
            {
                "id": "tracker",
                "path": str(NODES / "tracker.py"),
                "inputs": {"state": "simulator/state"},
                "outputs": ["objects", "event"],
                "env": known | {"SOURCE": "truth"},
            },
            {
                "id": "eyes",
                "path": str(Path(__file__).parent / "eyes.py"),
                "inputs": {"objects": "tracker/objects"},
                "outputs": ["objects"],
            },
            {
                "id": "gate",
                "path": str(NODES / "gate.py"),
                "inputs": gate_inputs,
                "outputs": ["command", "verdict", "grant", "status", "event"],
                "env": known,
            },
            {
                "id": "policy",
                "path": str(NODES / "policy.py"),
                "inputs": policy_inputs,
                "outputs": ["command", "request", "heartbeat", "cancel", "result", "event"],
                "env": known | policy,
            },
        ]
    }
