"""What a node process learns from dora and its environment: who it is, and its settings."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlock.nodes._node import Context, Node
from interlock.nodes._settings import from_env

if TYPE_CHECKING:
    from collections.abc import Mapping


def own_id(environ: Mapping[str, str]) -> str:
    """Return the id of this node in the dataflow."""
    # YAML with tags of dora's own (!Tcp), which a safe loader refuses.
    found = re.search(r"^node_id:\s*[\"']?([^\s\"']+)", environ["DORA_NODE_CONFIG"], re.MULTILINE)
    return found.group(1) if found else Path(sys.argv[0]).stem


def run_dir(dora_node: Any, environ: Mapping[str, str]) -> Path:
    """Return the folder of this run: as told, else below the folder of the dataflow."""
    told = environ.get("INTERLOCK_RUN_DIR")
    return Path(told) if told else Path.cwd() / "runs" / str(dora_node.dataflow_id())


def context_of(dora_node: Any, environ: Mapping[str, str]) -> Context:
    """Return what this node knows about the run it is in."""
    return Context(
        node_id=own_id(environ),
        run_id=str(dora_node.dataflow_id()),
        run_dir=run_dir(dora_node, environ),
        seed=int(environ.get("INTERLOCK_SEED") or 0),
        dataflow=dora_node.dataflow_descriptor(),
        dataflow_dir=Path.cwd(),
    )


def settings_of(node_class: type[Node], context: Context, environ: Mapping[str, str]) -> Any:
    """Return the settings of this node.

    Raises:
        SettingsError: If its `env:` has an unknown name or a value of the wrong type.
    """
    declared: dict[str, Any] = {}
    for node in context.dataflow["nodes"]:
        if node["id"] == context.node_id:
            declared = node.get("env") or {}
    # The process environment holds the values after dora expanded $NAMES in them.
    env = {name: environ.get(name, value) for name, value in declared.items()}
    return from_env(node_class.Settings, env, where=f"node {context.node_id}: env")


def outlive_dora() -> None:
    """Stay when `dora run` is killed, so that the arm comes to rest; the loop notices the silence.

    Else the kernel and dora's guard against orphans kill every node, the driver too.
    """
    if os.environ.pop("DORA_RUN_PARENT_PID", None) and sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, 0)


def prepare(nice: int) -> None:
    """Set up the process of a node before it connects to dora.

    Args:
        nice: Scheduling priority to ask for; done without where the host does not permit it.
    """
    # Ctrl-C reaches every process of the terminal; dora turns it into a STOP event for us.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    outlive_dora()
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, nice)
