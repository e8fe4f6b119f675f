"""The other arm of every experiment: the same programs through the Gate."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.benchmarks.suites.arena import CYCLE_NS, Record
from interlock.benchmarks.suites.arms import note
from interlock.gate import Gate, Run
from interlock.messages import (
    AdmittedCommand,
    Cancel,
    Command,
    Grant,
    Heartbeat,
    ObjectPoses,
    Received,
    Stamp,
    Stop,
    TaskRequest,
)
from interlock.nodes._sim_driver import SimDriver
from interlock.robots import panda
from interlock.robots.checker import PandaChecker
from interlock.robots.scene import build_scene, scene_obstacles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from interlock.gate import GateConfig
    from interlock.messages import Verdict
    from interlock.robots.scene_settings import SceneSettings

    Vector = NDArray[np.float64]

_KEY = b"interlock lockstep suites 000000"
_STEP_NS = 2_000_000
_FASTEST_RAD = panda.LIMITS.velocity * CYCLE_NS * 1e-9
_LEASE_MS = 200


class Gated:
    """The Gate between the programs and the driver."""

    name = "gate"

    def __init__(
        self, scene: SceneSettings, config: GateConfig, *, seed: int, lease_ms: int = _LEASE_MS
    ) -> None:
        self._lease_ms = lease_ms
        built = build_scene(scene, seed)
        self.sim = SimDriver(built, key=_KEY, run_id="suite")
        self.world = self.sim.world
        self.record = Record()
        self.refused = 0
        self.writes: list[str] = []
        self.verdicts: list[Verdict] = []
        self.visible: Callable[[str], bool] = lambda _: True
        self.touches: tuple[str, ...] = ()
        self.gate = _gate(config, scene, built)
        self.now_ns = 0
        self.sent = 0
        self.newest: AdmittedCommand | None = None
        self.gate_alive = True
        self._seq = 0
        self._tokens: dict[str, str] = {}
        self._states: dict[str, str] = {}
        self.sim.advance(0)
        self._observe()

    def ask(self, owner: str) -> None:
        """Ask for the arm."""
        request = TaskRequest(
            request=str(self._seq),
            owner=owner,
            name="suite",
            touches=self.touches,
            lease_ms=self._lease_ms,
        )
        self._note(self.gate.request(self._received(request, owner, "request"), self.now_ns))

    def granted(self, owner: str) -> bool:
        """Return whether a program holds the arm."""
        return self._states.get(self.token(owner)) == "granted"

    def move(self, rows: Vector, owner: str) -> bool:
        """Send rows; return whether all of them were admitted."""
        command = Command(
            task=self.token(owner),
            space="joint",
            targets=np.atleast_2d(rows),
            period_ns=CYCLE_NS,
        )
        return self.judge(command, owner)

    def token(self, owner: str) -> str:
        """Return the token that a program was given; empty if none."""
        return self._tokens.get(owner, "")

    def judge(self, command: Command, owner: str) -> bool:
        """Hand a command, however it is, to the Gate; return whether it was admitted whole."""
        received = self._received(command, owner, "command")
        verdict, admitted = self.gate.judge(received, self.now_ns)
        self.verdicts.append(verdict)
        if admitted is not None:
            self._note([admitted])
            self.writes.append(owner)
        whole = verdict.admitted and not verdict.codes
        self.refused += not whole
        return whole

    def beat(self, owner: str) -> None:
        """Say that a program is alive."""
        self.gate.heartbeat(self._received(Heartbeat(owner=owner), owner, "heartbeat"), self.now_ns)

    def cancel(self, owner: str) -> bool:
        """Cancel a program's task; it has completed when the arm is at rest."""
        received = self._received(Cancel(task=self.token(owner)), owner, "cancel")
        self._note(self.gate.cancel(received, self.now_ns))
        return self.gate.at_rest(self.now_ns)

    def stop(self) -> None:
        """The operator's stop."""
        self._note(self.gate.stop(Stop(by="operator"), self.now_ns))

    def died(self, owner: str) -> None:
        """The process of a program has died: the Gate's input from it closes."""
        self._note(self.gate.gone(owner, self.now_ns))

    def advance(self, cycles: int = 1) -> None:
        """Let control cycles pass."""
        for _ in range(cycles):
            for _ in range(2):
                self.now_ns += CYCLE_NS // 2
                self.sim.advance(self.now_ns)
                if self.gate_alive:
                    self._note(self.gate.tick(self.now_ns))
            if self.gate_alive:
                self._observe()
            note(self.record, self.world, self.sim.set_point.position)

    def _observe(self) -> None:
        state = self._received(self.sim.state(), "simulator", "state")
        self._note(self.gate.on_state(state, self.now_ns))
        poses = self.world.object_poses()
        if self.world.person_pose is not None:
            poses["person_hand"] = self.world.person_pose
        seen = {name: pose for name, pose in poses.items() if self.visible(name)}
        if seen:
            message = ObjectPoses(
                names=tuple(seen),
                world_from_object=np.array(list(seen.values())),
                confidence=np.ones(len(seen)),
                observed_ns=np.full(len(seen), self.now_ns, np.int64),
            )
            received = self._received(message, "tracker", "objects")
            self._note(self.gate.on_objects(received, self.now_ns))

    def _received(self, message: Any, source: str, output: str) -> Received[Any]:
        self._seq += 1
        stamp = Stamp(source=source, seq=self._seq, observed_ns=self.now_ns, sent_ns=self.now_ns)
        return Received(message=message, stamp=stamp, output=output, received_ns=self.now_ns)

    def _note(self, replies: Iterable[Any]) -> None:
        for reply in replies:
            if isinstance(reply, AdmittedCommand):
                self.sent += 1
                self.newest = reply
                self.sim.accept(reply, self.now_ns)
            elif isinstance(reply, Grant):
                if reply.task and reply.state in ("granted", "queued"):
                    self._tokens[reply.owner] = reply.task
                self._states[reply.task] = reply.state


def _gate(config: GateConfig, scene: SceneSettings, built: Any) -> Gate:
    still = {o.name for o in built.fixtures}
    everything: list[Any] = list(scene_obstacles(scene, built.layout))
    robot: Any = PandaChecker()
    return Gate(
        config,
        robot,
        run=Run(run_id="suite", key=_KEY),
        clock_ns=time.perf_counter_ns,
        fixtures=[o for o in everything if o.name in still],
        objects=[o for o in everything if o.name not in still],
    )
