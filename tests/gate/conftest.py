"""A Gate, a driver port that follows it exactly, and a clock that tests turn by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from interlock.gate import DriverPort, Gate, Run, parse_config
from interlock.gate.robot import Obstacle
from interlock.messages import (
    AdmittedCommand,
    Cancel,
    Command,
    Grant,
    Heartbeat,
    ObjectPoses,
    Received,
    RobotState,
    Stamp,
    TaskRequest,
)
from interlock.robots import kinematics, panda
from interlock.robots.checker import PandaChecker

MS = 1_000_000
KEY = b"k" * 32
DEFAULT = (Path(__file__).parents[2] / "configs/gate/default.yml").read_text()


def pose(x, y, z):
    return np.array([x, y, z, 1.0, 0.0, 0.0, 0.0])


TABLE = Obstacle(
    name="table", shape="box", size=(0.45, 0.6, 0.02), world_from_obstacle=pose(0.45, 0, -0.02)
)
OBJECTS = tuple(
    Obstacle(name=n, shape=s, size=z, world_from_obstacle=pose(0, 0, 0))
    for n, s, z in (
        ("cup_red", "cylinder", (0.03, 0.05)),
        ("cup_blue", "cylinder", (0.03, 0.05)),
        ("hand", "capsule", (0.04, 0.08)),
    )
)


class Rig:
    """The Gate and a perfect arm; ``now`` is the time in ns."""

    def __init__(self, text=DEFAULT, home=panda.HOME):
        self.gate = Gate(
            parse_config(text),
            PandaChecker(),
            run=Run(run_id="r", key=KEY),
            fixtures=[TABLE],
            objects=OBJECTS,
        )
        self.home = home.copy()
        self.port = DriverPort(KEY, run="r", position=self.home)
        self.now = 0
        self.told = []
        self.sent = []
        self.deaf = False
        self.grip = (0.08, 0.08, 0.0)
        self._seq = {}
        self._tokens = 0

    def received(self, message, source="policy", output="command", observed_ns=None, basis=()):
        seq = self._seq[source, output] = self._seq.get((source, output), -1) + 1
        observed_ns = self.now if observed_ns is None else observed_ns
        stamp = Stamp(
            source=source, seq=seq, observed_ns=observed_ns, sent_ns=self.now, basis=basis
        )
        return Received(message=message, stamp=stamp, output=output, received_ns=self.now)

    def deliver(self, replies):
        for reply in replies:
            self.told.append(reply)
            if isinstance(reply, AdmittedCommand):
                self.sent.append(reply)
                if not self.deaf:
                    assert self.port.accept(reply, self.now) is None
        return replies

    def state(self):
        q, v, a, *_, phase, number = self.port.set_point(self.now)
        speed = kinematics.tool_speed(q, v)
        width, target, force = self.grip
        return RobotState(
            position=q,
            velocity=v,
            commanded_position=q,
            commanded_velocity=v,
            commanded_acceleration=a,
            gripper_width_m=width,
            gripper_target_m=target,
            gripper_force_n=force,
            world_from_tool=kinematics.forward(q),
            tool_speed_mps=speed,
            at_rest=speed < 0.005 and not v.any(),
            executing=number,
            phase=phase,
        )

    def observe(self):
        message = self.received(self.state(), "simulator", "state")
        return self.deliver(self.gate.on_state(message, self.now))

    def see(self, **poses):
        message = ObjectPoses(
            names=tuple(poses),
            world_from_object=np.array(list(poses.values())),
            confidence=np.ones(len(poses)),
            observed_ns=np.full(len(poses), self.now),
        )
        received = self.received(message, "tracker", "objects")
        return self.deliver(self.gate.on_objects(received, self.now))

    def tick(self, ms=10, alive=("me",)):
        """Let time pass in steps of 10 ms with states, heartbeats and ticks."""
        for _ in range(int(ms // 10)):
            self.now += 10 * MS
            self.observe()
            for owner in alive:
                self.gate.heartbeat(self.received(Heartbeat(owner=owner), output="beat"), self.now)
            self.deliver(self.gate.tick(self.now))

    def ask(self, source="policy", owner="me", **fields):
        self._tokens += 1
        asked = TaskRequest(request=str(self._tokens), owner=owner, name="test", **fields)
        replies = self.deliver(self.gate.request(self.received(asked, source, "request"), self.now))
        return next(g for g in replies if isinstance(g, Grant) and g.request == asked.request)

    def task(self, **fields):
        if self.gate.surroundings.state is None:
            self.observe()
        return self.ask(**fields).task

    def send(self, token, rows, period_ms=20, space="joint", source="policy", basis=(), **fields):
        rows = np.atleast_2d(np.array(rows, np.float64))
        command = Command(
            task=token, space=space, targets=rows, period_ns=int(period_ms * MS), **fields
        )
        return self.judge(command, source, basis)

    def judge(self, command, source="policy", basis=()):
        verdict, admitted = self.gate.judge(self.received(command, source, basis=basis), self.now)
        if admitted is not None:
            self.deliver([admitted])
        return verdict

    def cancel(self, token, source="policy", **fields):
        message = self.received(Cancel(task=token, **fields), source, "cancel")
        return self.deliver(self.gate.cancel(message, self.now))

    @property
    def position(self):
        return self.port.set_point(self.now).position

    @property
    def speed(self):
        q, v, *_ = self.port.set_point(self.now)
        return kinematics.tool_speed(q, v)

    def stream(self, token, velocity, ms, period_ms=20):
        """Stream rows at a joint velocity; returns the verdicts."""
        verdicts, row = [], self.position.copy()
        for _ in range(int(ms // period_ms)):
            row = row + np.asarray(velocity) * period_ms * 1e-3
            verdicts.append(self.send(token, row, period_ms))
            self.tick(period_ms)
        return verdicts


@pytest.fixture
def rig():
    made = Rig()
    made.observe()
    return made


@pytest.fixture
def make_rig():
    return Rig


@pytest.fixture
def asked_rig(rig):
    """A rig whose ``token`` holds arm and gripper."""
    rig.token = rig.task()
    return rig
