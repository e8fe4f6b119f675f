"""The simulator process: reads what to serve from standard input, serves it, announces its ports.

The robot runs on the main thread. The process ends when its parent closes standard input, so no
simulator outlives the program that started it.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
from typing import Any

from interlock.messages.errors import InterlockError
from interlock.robots.bridge.faults import BridgeError
from interlock.robots.bridge.gym_batch import GymBatch
from interlock.robots.bridge.gym_sim import GymRobot
from interlock.robots.bridge.gym_target import Target, load
from interlock.robots.bridge.robot import RobotBridge
from interlock.robots.bridge.server import BridgeServer
from interlock.robots.bridge.settings import BridgeSettings


def main() -> None:
    """Serve until standard input closes."""
    announce = int(sys.argv[1])
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    logging.getLogger("websockets").setLevel(logging.WARNING)
    try:
        order = json.loads(sys.stdin.buffer.readline())
        server = serve(order)
        server.start()
    except InterlockError as error:
        _say(announce, {"error": str(error)})
        raise SystemExit(1) from error
    except Exception as error:
        _say(announce, {"error": f"{type(error).__name__}: {error}"})
        raise
    _say(announce, {"url": server.url, "control_port": server.control_port})
    threading.Thread(target=_end_with_parent, daemon=True).start()
    server.run()


def serve(order: dict[str, Any]) -> BridgeServer:
    """Return the server an order describes: robots, settings, contract."""
    settings = BridgeSettings(**order.get("settings", {}))
    if order["kind"] == "gym":
        return BridgeServer(_gym(order), settings)
    made = load(order["place"])(**order.get("init", {}))
    if not isinstance(made, RobotBridge):
        raise BridgeError(f"{order['place']} made a {type(made).__name__}, not a RobotBridge")
    return BridgeServer(made, settings)


def _gym(order: dict[str, Any]) -> RobotBridge | list[GymRobot]:
    described = {**order["target"]}
    for key in ("episodic", "imports"):
        described[key] = tuple(described.get(key, ()))
    target, contract = Target(**described), order.get("contract")
    if order.get("batched"):
        return GymBatch(target, contract)
    return [GymRobot(target, contract) for _ in range(order.get("slots", 1))]


def _say(announce: int, message: dict[str, Any]) -> None:
    os.write(announce, json.dumps(message).encode() + b"\n")
    os.close(announce)


def _end_with_parent() -> None:
    # The main thread may be deep in a step; leaving through it could take for ever.
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main()
