"""A small arm, a batch of them, a served bridge, and a client that speaks raw frames."""

from __future__ import annotations

import contextlib
import json
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from interlock.messages.arrays_msgpack import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
from interlock.robots.bridge import BridgeServer, BridgeSettings, RobotBridge
from interlock.robots.bridge.control_client import ControlClient

STATE = {"role": "observation", "dtype": "float32", "shape": [2], "names": ["x", "y"]}
ACTION = {
    "role": "action",
    "dtype": "float32",
    "shape": [2],
    "names": ["dx", "dy"],
    "limits": {"min": [-1, -1], "max": [1, 1]},
    "state_type": "EE_DEL_POS",
}
CONTRACT = {"control_rate": 50, "features": {"observation/state": STATE, "action": ACTION}}
ABSOLUTE = {
    **CONTRACT,
    "features": {
        "observation/state": STATE,
        "action": {**ACTION, "state_type": "JOINT_ABS_POS"},
    },
}


class Arm(RobotBridge):
    """Adds its actions up; ends after ``length`` steps; an action of exactly 0.5 breaks it."""

    contract = CONTRACT

    def __init__(self, length: int = 1000) -> None:
        self.length = length
        self.taken: list[np.ndarray] = []

    def reset(self, *, start: float = 0.0) -> str:
        self.state = np.full(2, start, np.float32)
        self.taken = []
        return f"start at {start:g}"

    def step(self, action: np.ndarray) -> None:
        if action[0] == np.float32(0.5):
            raise RuntimeError("/secret/path broke")
        self.taken.append(action)
        self.state = self.state + action

    def get_observation(self) -> tuple[dict[str, Any], bool]:
        ended = len(self.taken) >= self.length
        return {"observation/state": self.state, "reward": float(ended)}, ended

    def result(self, slot: int) -> dict[str, Any]:
        return {"success": len(self.taken) >= self.length}


class Arms(RobotBridge):
    """A batch that steps and resets as a whole."""

    contract = ABSOLUTE

    def __init__(self, count: int = 2) -> None:
        self.num_slots = count
        self.taken: list[np.ndarray] = []
        self.resets = 0

    def reset(self, **task: Any) -> str:
        self.resets += 1
        self.t = 0
        return "together"

    def step(self, actions: np.ndarray) -> None:
        self.t += 1
        self.taken.append(actions)

    def get_observation(self) -> tuple[dict[str, Any], np.ndarray]:
        state = np.full((self.num_slots or 1, 2), self.t, np.float32)
        return {"observation/state": state}, np.zeros(self.num_slots or 1, bool)


class Raw:
    """A client that sends and reads single frames."""

    def __init__(self, url: str, **options: Any) -> None:
        self._stack = contextlib.ExitStack()
        self.socket = self._stack.enter_context(
            connect(url, compression=None, max_size=None, **options)
        )
        self.metadata = unpack(self.socket.recv(5))

    def send(self, message: Any) -> None:
        self.socket.send(message if isinstance(message, bytes | str) else pack(message))

    def read(self, timeout_s: float = 5.0) -> dict[str, Any]:
        """Return an observation, or ``{"error": ...}`` for a fault."""
        frame = self.socket.recv(timeout_s)
        return json.loads(frame) if isinstance(frame, str) else unpack(frame)

    def claim(self, token: str | None) -> dict[str, Any]:
        self.send({"claim": token})
        return self.read()

    def act(self, *action: float) -> dict[str, Any]:
        self.send({"actions": np.array(action, np.float32)})
        return self.read()

    def closed(self) -> int:
        """Return the close code, once the bridge closed the connection."""
        with pytest.raises(ConnectionClosed) as error:
            self.socket.recv(5)
        return error.value.rcvd.code if error.value.rcvd else 1006

    def close(self) -> None:
        self._stack.close()


class Served:
    """A running bridge."""

    def __init__(self, robots: Any, settings: BridgeSettings, **options: Any) -> None:
        self.server = BridgeServer(robots, settings, **options)
        self.server.start()
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()
        self.url = self.server.url
        self.control = ControlClient(self.server.control_port, token=settings.token, timeout_s=10)
        self.clients: list[Raw] = []

    def reset(self, **task: Any) -> str:
        return str(self.control.call("reset", **task)["token"])

    def dial(self, **options: Any) -> Raw:
        self.clients.append(Raw(self.url, **options))
        return self.clients[-1]

    def driven(self, **task: Any) -> Raw:
        """Reset, dial and claim."""
        client = self.dial()
        client.claim(self.reset(**task))
        return client

    def stop(self) -> None:
        for client in self.clients:
            client.close()
        self.control.close()
        self.server.stop()
        self.thread.join(5)


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    running: list[Served] = []

    def start(robots: Any = None, *, admission: Any = None, **settings: Any) -> Served:
        made = Served(robots or Arm(), BridgeSettings(**settings), admission=admission)
        running.append(made)
        return made

    yield start
    for served in running:
        served.stop()


@pytest.fixture
def arm() -> type[Arm]:
    return Arm


@pytest.fixture
def arms() -> type[Arms]:
    return Arms
