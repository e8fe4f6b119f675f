"""Bridge node: an outside agent drives the arm over openpi/0, through the Gate of the dataflow.

Inputs:   state, image or image_<name> (one per camera), objects, verdict, grant, status, tick.
Outputs:  command, request, heartbeat, cancel, result, event.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from interlock.messages import (
    Cancel,
    Command,
    Event,
    GateStatus,
    Grant,
    Heartbeat,
    Image,
    ObjectPoses,
    Output,
    Result,
    RobotState,
    SettingsError,
    TaskRequest,
    Verdict,
)
from interlock.nodes._bridge_door import Door
from interlock.nodes._bridge_guest import Guests
from interlock.nodes._bridge_robot import DataflowArm
from interlock.nodes._bridge_view import BridgeView
from interlock.nodes._node import Context, Node
from interlock.nodes._skill_arm import panda_arm
from interlock.policies.runtime import Runtime
from interlock.robots.bridge import BridgeServer, BridgeSettings
from interlock.robots.bridge.settings import read_token

if TYPE_CHECKING:
    from collections.abc import Iterable

    from interlock.messages import Received

_STOP_S = 3.0


class BridgeNode(Node):
    """Serves when it has seen the arm and a picture of every camera."""

    @dataclass(frozen=True, kw_only=True)
    class Settings:
        """What the dataflow may set.

        Attributes:
            host: Address to listen on; beyond this machine it takes a token.
            port: Port of the websocket; 0 takes a free one, an event says which.
            control_port: Port of the control plane; 0 takes a free one.
            token_file: File that holds the secret of the clients, readable by its owner only.
            control_rate: Actions per second.
            pace: ``realtime``: an action per period, shown when it has begun; ``lockstep``: an
                action whenever the client sends one, shown when the arm is there, at rest.
            prompt: What a client is there for unless it says so.
            touches: Objects that a client may touch, with spaces between.
            image_max_age_ms: Older pictures are not shown.
            state_max_age_ms: Older robot states are not acted on.
            lease_ms: The Gate ends the task when it has not heard from this node for as long.
            patience_s: How long a client waits for the arm, in s.
            first_action_timeout_s: From the first observation to the first action, in s.
            action_timeout_s: From a later observation to its action, in s.
            wait_s: In simulated time: how long the simulation waits for a client, in s.
        """

        host: str = "127.0.0.1"
        port: int = 0
        control_port: int = 0
        token_file: str = ""
        control_rate: float = 20.0
        pace: str = "realtime"
        prompt: str = ""
        touches: str = ""
        image_max_age_ms: float = 500.0
        state_max_age_ms: float = 500.0
        lease_ms: int = 300
        patience_s: float = 10.0
        first_action_timeout_s: float = 300.0
        action_timeout_s: float = 60.0
        wait_s: float = 30.0

    inputs: ClassVar = {
        "state": RobotState,
        "image": Image,
        "objects": ObjectPoses,
        "verdict": Verdict,
        "grant": Grant,
        "status": GateStatus,
    }
    nice: ClassVar = -5
    outputs: ClassVar = {
        "command": Command,
        "request": TaskRequest,
        "heartbeat": Heartbeat,
        "cancel": Cancel,
        "result": Result,
        "event": Event,
    }

    def __init__(self, settings: Settings, context: Context) -> None:
        super().__init__(settings, context)
        self._serving = _serving(settings, context)
        self._period_ns = round(1e9 / settings.control_rate)
        self.runtime = Runtime(
            owner=context.node_id,
            arm=panda_arm(),
            lease_ms=settings.lease_ms,
            state_max_age_ms=settings.state_max_age_ms,
            lockstep=context.lockstep,
        )
        self.view = BridgeView(context, image_max_age_ms=settings.image_max_age_ms)
        self.door = Door(patience_s=settings.patience_s)
        self._guests = Guests(
            self.runtime,
            self.door,
            period_ns=self._period_ns,
            streams=settings.pace == "realtime",
            touch=tuple(settings.touches.split()),
        )
        self.server: BridgeServer | None = None
        self._thread: threading.Thread | None = None

    def on_state(self, received: Received[RobotState], now_ns: int) -> Iterable[Output]:
        """Take in the robot's state, show it, and run a control cycle."""
        self.runtime.put(received)
        self.view.on_state(received)
        if self.server is None and self.view.complete:
            self._serve()
        sight = self.view.sight()
        if sight is not None:
            self.door.show(sight)
        return self._step(now_ns)

    def on_image(self, received: Received[Image], now_ns: int) -> Iterable[Output]:
        """Keep the newest picture of each camera."""
        self.view.on_image(received)
        return ()

    def on_objects(self, received: Received[ObjectPoses], now_ns: int) -> Iterable[Output]:
        """Keep where objects are."""
        self.view.on_objects(received)
        return ()

    def _take(self, received: Received[Any], now_ns: int) -> Iterable[Output]:
        self.runtime.put(received)
        return self._step(now_ns)

    on_verdict = on_grant = on_status = _take

    def on_tick(self, now_ns: int) -> Iterable[Output]:
        """Run a control cycle; in simulated time wait for the client first."""
        if self.context.lockstep and self.server is not None and not self._guests.ending:
            came = self.door.await_turn(self.settings.wait_s)
            if not came:
                self.finished = f"no client asked for anything within {self.settings.wait_s:g} s"
        return self._step(now_ns)

    def _step(self, now_ns: int) -> Iterable[Output]:
        self.runtime.loop.run_until_idle(now_ns)
        self._guests.step()
        return self.runtime.step(now_ns)

    def _serve(self) -> None:
        waits = self.settings.pace == "lockstep"
        contract = self.view.contract(self.settings.control_rate)
        robot = DataflowArm(
            contract,
            self.door,
            period_ns=self._period_ns,
            waits=waits,
            begin=self._guests.begin_episode,
            prompt=self.settings.prompt,
        )
        # With `idle` the event loop never runs on the robot's thread, which waits for the arm.
        server = BridgeServer(robot, self._serving, admission=robot, idle=lambda: None)
        server.start()
        self.server = server
        self._thread = threading.Thread(target=server.run, name="bridge robot", daemon=True)
        self._thread.start()
        text = f"serving the arm at {server.url}, {len(contract.observations)} features"
        self.runtime.event("task", text, url=server.url, control_port=server.control_port)

    def on_closed(self, input_id: str, reason: str, now_ns: int) -> Iterable[Output]:
        """Without the Gate or the robot nothing can be done; pictures just go stale."""
        if input_id.startswith(("verdict", "grant", "state")):
            self.failed = self.failed or f"input {input_id} {reason}"
        return ()

    def on_stop(self, now_ns: int) -> Iterable[Output]:
        """Tell the client, and end; the Gate has the arm at rest without us."""
        if self.server is not None and self._thread is not None:
            self.door.close("the dataflow is ending")
            self.server.stop()
            self._thread.join(_STOP_S)
        self.runtime.close()
        return ()


def _serving(settings: BridgeNode.Settings, context: Context) -> BridgeSettings:
    if settings.pace not in ("realtime", "lockstep"):
        raise SettingsError(f"PACE {settings.pace!r}: expected realtime or lockstep")
    if context.lockstep and settings.pace != "lockstep":
        raise SettingsError("in simulated time PACE has to be lockstep: time waits for the client")
    if not 1.0 <= settings.control_rate <= 100.0:
        raise SettingsError(f"CONTROL_RATE {settings.control_rate}: expected 1 to 100 per second")
    file = context.dataflow_dir / settings.token_file if settings.token_file else None
    return BridgeSettings(
        host=settings.host,
        port=settings.port,
        control_port=settings.control_port,
        token=None if file is None else read_token(file),
        pace="realtime" if settings.pace == "realtime" else "lockstep",
        auto_reset=True,
        first_action_timeout_s=settings.first_action_timeout_s,
        action_timeout_s=settings.action_timeout_s,
    )


NODE = BridgeNode


def main() -> None:
    """Run under dora."""
    from interlock.nodes._dora import run

    run(NODE)


if __name__ == "__main__":
    main()
