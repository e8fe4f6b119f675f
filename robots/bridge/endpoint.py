"""A robot in a process of its own, as the program that evaluates agents holds it."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlock.messages.contract import Contract, read_contract
from interlock.robots.bridge.control_client import ControlClient
from interlock.robots.bridge.faults import BridgeError
from interlock.robots.bridge.gym_target import place_of, target_of
from interlock.robots.bridge.process import SimProcess
from interlock.robots.bridge.robot import RobotBridge
from interlock.robots.bridge.settings import BridgeSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType
    from typing import Self


class RobotEndpoint:
    """Starts a simulator, and starts and grades its episodes.

    Args:
        robot: A `RobotBridge` subclass, or where to find one: ``"file.py:Class"``.
        init: Arguments of its constructor; plain JSON values.
        settings: How the bridge listens and waits.
        python: Interpreter of the simulator, if it needs its own.
        start_timeout_s: Longest wait for the simulator to be built.
    """

    def __init__(
        self,
        robot: type[RobotBridge] | str,
        init: Mapping[str, Any] | None = None,
        *,
        settings: BridgeSettings | None = None,
        python: Path | None = None,
        start_timeout_s: float = 300.0,
    ) -> None:
        if isinstance(robot, RobotBridge):
            raise BridgeError(
                f"pass the class {type(robot).__name__} and its arguments, not an object: "
                "the simulator is built in its own process"
            )
        place = robot if isinstance(robot, str) else place_of(robot)
        order = {"kind": "bridge", "place": place, "init": dict(init or {})}
        self._prepare(order, settings, python, start_timeout_s)

    def _prepare(
        self,
        order: dict[str, Any],
        settings: BridgeSettings | None,
        python: Path | None,
        start_timeout_s: float,
    ) -> None:
        self.settings = settings or BridgeSettings()
        self._order = {**order, "settings": dataclasses.asdict(self.settings)}
        self._python, self._start_timeout_s = python, start_timeout_s
        self._process: SimProcess | None = None
        self._control: ControlClient | None = None

    @classmethod
    def _from_order(cls, order: dict[str, Any], *rest: Any) -> RobotEndpoint:
        endpoint = cls.__new__(cls)
        endpoint._prepare(order, *rest)
        return endpoint

    def start(self) -> Self:
        """Build the simulator and listen; does nothing if it already runs.

        Raises:
            BridgeError: If it can't be built; the message says why.
        """
        if self._process is not None and self._process.alive():
            return self
        self._process = SimProcess(
            self._order, python=self._python, start_timeout_s=self._start_timeout_s
        )
        self._control = ControlClient(
            self._process.ready["control_port"], self.settings.host, token=self.settings.token
        )
        return self

    def stop(self) -> None:
        """End the simulator."""
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            self._process.stop()
        self._process = self._control = None

    def __enter__(self) -> Self:
        """Start."""
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop."""
        self.stop()

    @property
    def url(self) -> str:
        """Where agents connect."""
        return str(self._running().ready["url"])

    @property
    def control_port(self) -> int:
        """Port of the control plane."""
        return int(self._running().ready["control_port"])

    @property
    def pid(self) -> int:
        """Process id of the simulator."""
        return self._running().pid

    def contract(self) -> Contract:
        """Return what the robot shows and accepts."""
        return Contract.from_json(self._ask().call("contract")["contract"])

    def capabilities(self, name: str = "robot") -> list[dict[str, Any]]:
        """Return the manifest: protocol, address and contract."""
        found: list[dict[str, Any]] = self._ask().call("capabilities", name=name)["capabilities"]
        return found

    def reset(self, *, wait_s: float = 600.0, **task: Any) -> dict[str, Any]:
        """Start an episode and return its ``prompt`` and ``token``; waits for a free slot."""
        return self._ask().reset(task, wait_s=wait_s)

    def result(self, token: str | None = None) -> dict[str, Any]:
        """Return ``score``, ``success`` and ``total_reward`` of an episode and free its slot."""
        found: dict[str, Any] = self._ask().call("result", token=token)
        return found

    async def areset(self, *, wait_s: float = 600.0, **task: Any) -> dict[str, Any]:
        """`reset` for async callers."""
        return await asyncio.to_thread(self.reset, wait_s=wait_s, **task)

    async def aresult(self, token: str | None = None) -> dict[str, Any]:
        """`result` for async callers."""
        return await asyncio.to_thread(self.result, token)

    def _running(self) -> SimProcess:
        if self._process is None:
            raise BridgeError("the endpoint is not started; call start()")
        return self._process

    def _ask(self) -> ControlClient:
        self._running()
        assert self._control is not None
        return self._control


def gym(
    target: str | Callable[..., Any] | Any,
    *,
    num_envs: int = 1,
    batched: bool = False,
    fps: float | None = None,
    contract: Contract | Path | str | None = None,
    episodic: tuple[str, ...] = (),
    imports: tuple[str, ...] = (),
    settings: BridgeSettings | None = None,
    python: Path | None = None,
    start_timeout_s: float = 300.0,
    **build: Any,
) -> RobotEndpoint:
    """Serve a gymnasium environment as a robot.

    Args:
        target: A factory at module level, ``"file.py:factory"``, a registry id, or an environment
            (closed here, built again from its spec).
        num_envs: Copies; each steps and resets on its own.
        batched: The environment itself has ``num_envs`` rows that step together.
        fps: Control rate in Hz; None takes the environment's own.
        contract: A contract to use in place of the derived one.
        episodic: Names a reset may pass to the environment as options.
        imports: Modules that register the id.
        settings: How the bridge listens and waits; by default out-of-range actions are clipped.
        python: Interpreter of the environment, if it needs its own.
        start_timeout_s: Longest wait for the environment to be built.
        build: Arguments of the factory or of ``gymnasium.make``.
    """
    if batched and num_envs > 1:
        build["num_envs"] = num_envs
    made = target_of(target, build, episodic=episodic, fps=fps, imports=imports)
    given = read_contract(Path(contract)) if isinstance(contract, str | Path) else contract
    order = {"kind": "gym", "batched": batched, "slots": 1 if batched else num_envs}
    order |= {"target": dataclasses.asdict(made), "contract": given and given.to_json()}
    clips = BridgeSettings(on_limit="clip")
    return RobotEndpoint._from_order(order, settings or clips, python, start_timeout_s)
