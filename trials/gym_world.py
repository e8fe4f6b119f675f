"""Worlds of other suites: a gymnasium environment in a process of its own, over the robot bridge.

Success is what the environment itself reports, asked once at the end. There is no Gate before
these worlds: they are simulations of robots that are not ours.
"""

from __future__ import annotations

import asyncio
import importlib
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.policies.robot.client import Observation, RobotClient
from interlock.trials.backend import Camera, Motion, WorldInfo
from interlock.trials.errors import PreflightError, RefusedError
from interlock.trials.png import encode_rgb
from interlock.trials.scenario import Scenario, Scene, Vector

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from numpy.typing import NDArray

CALL_S = 120.0


class GymWorld:
    """One task of a suite.

    Args:
        place: ``suite/task``, e.g. ``metaworld/reach-v3``.
        serve: Returns the robot endpoint of suite and task; the installed suites' by default.
    """

    def __init__(self, place: str, serve: Callable[[str, str], Any] | None = None) -> None:
        self._place = place
        suite, _, task = place.partition("/")
        serve = serve or importlib.import_module("interlock.robots.bridge.suites").serve_suite
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True, name="gym-world").start()
        try:
            self._endpoint = serve(suite, task).start()
        except Exception as error:
            raise PreflightError(f"world {place!r} cannot start: {error}") from error
        self._contract = self._endpoint.contract()
        self._client: RobotClient | None = None
        self._token: str | None = None
        self._seen = Observation(data={})
        self._success: bool | None = None

    def info(self) -> WorldInfo:
        """Return what the environment's contract says."""
        action = self._action()
        low, high = action.get("limits", {}).get("min"), action.get("limits", {}).get("max")
        width = int(action["shape"][0])
        return WorldInfo(
            world=self._place,
            action=tuple(action.get("names") or [f"a{i}" for i in range(width)]),
            low=tuple(low or [-1e6] * width),
            high=tuple(high or [1e6] * width),
            units="as the environment defines them",
            period_s=1.0 / float(self._contract.raw.get("control_rate", 10.0)),
            cameras=tuple(self._cameras()),
            skills={},
            reach_low_m=(0.0, 0.0, 0.0),
            reach_high_m=(0.0, 0.0, 0.0),
        )

    def reset(self, scenario: Scenario, *, seed: int) -> None:
        """Start an episode with a seed; the environment has its own scenario."""
        del scenario
        started = self._endpoint.reset(seed=seed)
        self._token = started.get("token")
        client = self._wait(RobotClient.connect(self._endpoint.url, token=self._token))
        self._client, self._success = client, None
        self._seen = self._wait(client.get_observation())

    def close(self) -> None:
        """End the connection and the environment's process."""
        if self._client is not None:
            self._wait(self._client.close())
        self._endpoint.stop()
        self._loop.call_soon_threadsafe(self._loop.stop)

    def conclude(self) -> None:
        """Ask the environment whether the episode succeeded."""
        found = self._endpoint.result(self._token).get("success")
        self._success = None if found is None else bool(found)

    def scene(self) -> Scene:
        """Return the environment's own word; there are no bodies to look at."""
        signals = {} if self._success is None else {"success": self._success}
        return Scene(bodies={}, zones={}, hand_m=(0.0, 0.0, 0.0), grip_open=1.0, signals=signals)

    def state(self, *, private: bool) -> dict[str, Any]:
        """Return every vector the environment shows; ``private`` makes no difference."""
        del private
        shown = {
            name: np.asarray(value, float).round(5).reshape(-1).tolist()
            for name, value in self._seen.data.items()
            if not _is_picture(value) and not isinstance(value, str)
        }
        return {**shown, "terminated": self._seen.terminated}

    def picture(self, camera: str, *, width: int, height: int) -> bytes:
        """Return a picture in its own size, as PNG.

        Raises:
            RefusedError: If another size is asked for.
        """
        pixels: NDArray[np.uint8] = np.asarray(self._seen.data[camera], np.uint8)
        if (width, height) != (pixels.shape[1], pixels.shape[0]):
            raise RefusedError(
                f"{camera} has {pixels.shape[1]}x{pixels.shape[0]} pixels",
                way_out="Leave width and height out",
            )
        filtered = np.zeros((height, 1 + 3 * width), np.uint8)
        filtered[:, 1:] = pixels.reshape(height, -1)
        return encode_rgb(filtered.tobytes(), width=width, height=height)

    def place(self, name: str, position_m: Vector) -> None:
        """Nothing can be moved from outside."""

    def act(self, action: list[float]) -> Motion:
        """Step the environment once."""
        assert self._client is not None
        if self._seen.terminated:
            raise RefusedError(
                "the environment has ended its episode",
                way_out="Call `robo done`",
                codes=("ended",),
            )
        self._seen = self._wait(self._client.step(np.asarray(action, np.float32)))
        yield
        return {"reward": self._seen.reward, "terminated": self._seen.terminated}

    def wait(self, steps: int) -> Motion:
        """Step with an action of zeros, as long as the environment lets us."""
        zeros = [0.0] * len(self.info().action)
        for _ in range(steps):
            if self._seen.terminated:
                return {}
            yield from self.act(zeros)
        return {}

    def move_to(self, position_m: list[float], **_: Any) -> Motion:
        """Refuse: only `act` means the same on every robot."""
        raise _only_act()

    def grip(self, opening: float, *, steps: int) -> Motion:
        """Refuse: only `act` means the same on every robot."""
        raise _only_act()

    def skill(self, name: str, arguments: list[str]) -> Motion:
        """Refuse: there are none."""
        raise _only_act()

    def _action(self) -> dict[str, Any]:
        features: dict[str, Any] = self._contract.raw["features"]
        found: dict[str, Any] = next(f for f in features.values() if f.get("role") == "action")
        return found

    def _cameras(self) -> list[Camera]:
        return [
            Camera(name=name, width=int(value.shape[1]), height=int(value.shape[0]))
            for name, value in self._seen.data.items()
            if _is_picture(value)
        ]

    def _wait(self, call: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(call, self._loop).result(CALL_S)


def _is_picture(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == np.uint8 and value.ndim == 3


def _only_act() -> RefusedError:
    return RefusedError(
        "this robot is moved by act alone",
        way_out="Use `robo act`; `robo info` names its values",
        codes=("no_such_verb",),
    )
