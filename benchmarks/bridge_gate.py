"""Serve the benchmark's robot with the Gate in the path of every action."""

from __future__ import annotations

import contextlib
import multiprocessing
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.benchmarks import bridge_env
from interlock.nodes._bridge_gate import GateAdmission, limits_of
from interlock.robots.bridge import BridgeServer
from interlock.robots.bridge.control_client import ControlClient
from interlock.robots.bridge.gym_sim import GymRobot
from interlock.robots.bridge.gym_target import target_of
from interlock.robots.bridge.sims import as_contract

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def gated_server() -> Iterator[tuple[str, str, int]]:
    """Serve in a process of its own; gives address, token and process id."""
    context = multiprocessing.get_context("spawn")
    queue: Any = context.Queue()
    child = context.Process(target=_serve, args=(queue.put,), daemon=True)
    child.start()
    try:
        url, control_port = queue.get(timeout=60)
        token = ControlClient(control_port).call("reset")["token"]
        yield url, token, int(child.pid or 0)
    finally:
        child.kill()
        child.join()


def _serve(announce: Any) -> None:
    robot = GymRobot(target_of(bridge_env.make_arm, {}))
    action = as_contract(robot).action
    change = np.full(action.width or 1, 2.0)
    limits = limits_of(action, most_change=change, budget=10**9)
    server = BridgeServer(robot, admission=GateAdmission(limits))
    server.start()
    announce((server.url, server.control_port))
    server.run()
