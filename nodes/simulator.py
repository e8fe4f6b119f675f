"""Simulator node: MuJoCo world and, in simulation, the driver of the arm.

Inputs:   command (AdmittedCommand, from the Gate only), disturb (Event), tick.
Outputs:  state (RobotState), event (Event).
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from interlock.gate.graph import require_only_way
from interlock.gate.keyfile import forget_key
from interlock.messages import AdmittedCommand, Event, InterlockError, Output, RobotState, owned
from interlock.nodes._node import Context, Node
from interlock.nodes._scene import scene
from interlock.nodes._seal_key import seal_key
from interlock.nodes._sim_driver import SimDriver

if TYPE_CHECKING:
    from collections.abc import Iterable

    from interlock.messages import Received

#: Longest wait for the arm to come to rest when the run ends, in s.
REST_WAIT_S = 2.5
#: What a disturbance may do; every name is a method of robots.disturbances.Disturbances.
DISTURBANCES = ("push", "put", "remove", "attach", "detach", "move_person", "set_belt")


class SimulatorNode(Node):
    """Advances the world, publishes its state, hands admitted commands to the driver port."""

    @dataclass(frozen=True, kw_only=True)
    class Settings:
        """What the dataflow may set.

        Attributes:
            scene: Shipped scene, or the path of a scene file.
            layout_seed: Seed of the layout; -1 takes the seed of the run.
        """

        scene: str = "tabletop"
        layout_seed: int = 0

    inputs: ClassVar = {"command": AdmittedCommand, "disturb": Event}
    nice: ClassVar = -10
    outputs: ClassVar = {"state": RobotState, "event": Event}

    def __init__(self, settings: Settings, context: Context) -> None:
        super().__init__(settings, context)
        seed = None if settings.layout_seed < 0 else settings.layout_seed
        self._scene = scene(settings.scene, context, seed)
        self.driver = SimDriver(self._scene, key=seal_key(context), run_id=context.run_id)
        self._running = threading.Event()
        self._thread: threading.Thread | None = None
        self._told_refused = 0
        self._gate_gone = ""
        self._was_at_rest = True

    def on_start(self, now_ns: int) -> Iterable[Output]:
        """Start simulated time, under dora with a thread that keeps pace with the clock."""
        if self.context.dataflow or not self.context.lockstep:
            require_only_way(self.context.dataflow, self.context.dataflow_dir)
        self.driver.advance(now_ns)
        if not self.context.lockstep:
            self._running.set()
            self._thread = threading.Thread(target=self._keep_pace, daemon=True, name="physics")
            self._thread.start()
        text = f"scene {self.settings.scene}, layout {self._scene.layout_hash[:12]}"
        yield _event("scene", text, layout_hash=self._scene.layout_hash)

    def _keep_pace(self) -> None:
        period_s = self.driver.world.timestep_s
        while self._running.is_set():
            now_ns = time.monotonic_ns()
            self.driver.advance(now_ns)
            time.sleep(period_s)

    def on_command(self, received: Received[AdmittedCommand], now_ns: int) -> Iterable[Output]:
        """Hand a command to the driver port, which takes it only from the Gate and in order."""
        refusal = self.driver.accept(owned(received.message), now_ns)
        if refusal is None:
            return
        self._told_refused += 1
        if self._told_refused <= 20:
            yield Output(
                output="event",
                message=_message("warning", f"driver refused a command: {refusal}"),
                basis=(received.basis,),
            )

    def on_disturb(self, received: Received[Event], now_ns: int) -> Iterable[Output]:
        """Change the simulated world as an experiment asks."""
        try:
            values = json.loads(received.message.data)
            action = values.pop("action")
            if action not in DISTURBANCES:
                raise InterlockError(f"no disturbance {action!r}; known: {', '.join(DISTURBANCES)}")
            self.driver.disturb(action, values)
        except (InterlockError, ValueError, TypeError, KeyError, AttributeError) as error:
            yield _event("warning", f"disturbance refused: {error}")
            return
        yield _event("disturbance", received.message.text or action, action=action, **values)

    def on_tick(self, now_ns: int) -> Iterable[Output]:
        """Publish the state; in lockstep advance the world first."""
        if self.context.lockstep:
            self.driver.advance(now_ns)
        driver = self.driver
        state = driver.state()
        yield Output(output="state", message=state, observed_ns=driver.now_ns)
        if driver.fault:
            self._report()
            self.failed = f"simulation invalid: {driver.fault}"
        if state.at_rest and not self._was_at_rest:
            self._report()
        self._was_at_rest = state.at_rest
        if self._gate_gone and state.at_rest:
            self._leave()

    def _leave(self) -> None:
        if self._gate_gone == "ended":
            self.finished = "the Gate has ended and the arm is at rest"
        else:
            self.failed = f"node gate {self._gate_gone}; the arm is at rest along its verified stop"

    def on_closed(self, input_id: str, reason: str, now_ns: int) -> Iterable[Output]:
        """Without the Gate nothing new comes: end when the last command is at rest."""
        if input_id.startswith("command"):
            self._gate_gone = reason
        return ()

    def on_stop(self, now_ns: int) -> Iterable[Output]:
        """Follow the last command to its rest, then write what came of it."""
        deadline = time.monotonic() + REST_WAIT_S
        while self._thread and not self.driver.at_rest and not self.driver.fault:
            if time.monotonic() > deadline:
                break
            time.sleep(0.005)
        self._running.clear()
        if self._thread:
            self._thread.join(timeout=1.0)
        self._report()
        if not self.context.lockstep:
            forget_key(self.context.run_id)
        return ()

    def _report(self) -> None:
        """Write driver.json: where the arm is, and where the Gate said it would come to rest."""
        driver, state = self.driver, self.driver.state()
        report: dict[str, Any] = {
            "at_rest": state.at_rest,
            "phase": state.phase,
            "executing": state.executing,
            "tool_speed_mps": state.tool_speed_mps,
            "rest_position": state.position.tolist(),
            "predicted_rest": driver.set_point.position.tolist(),
            "refused": state.refused,
            "refusals": dict(driver.port.refused),
            "refusal": state.refusal,
            "reason": self.failed or self.finished or driver.fault or self._gate_gone,
            "layout_hash": self._scene.layout_hash,
            "not_simulated_ms": driver.lost_ns / 1e6,
            "peak_forces_n": driver.peak_forces_n(),
        }
        try:
            self.context.run_dir.mkdir(parents=True, exist_ok=True)
            text = json.dumps(report, indent=1)
            (self.context.run_dir / "driver.json").write_text(text + "\n")
        except OSError as error:
            self.failed = self.failed or f"cannot write driver.json: {error.strerror}"


def _message(kind: str, text: str, **data: Any) -> Event:
    return Event(kind=kind, text=text, data=json.dumps(data))


def _event(kind: str, text: str, **data: Any) -> Output:
    return Output(output="event", message=_message(kind, text, **data))


NODE = SimulatorNode


def main() -> None:
    """Run under dora."""
    from interlock.nodes._dora import run

    run(NODE)


if __name__ == "__main__":
    main()
