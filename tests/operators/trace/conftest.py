"""A whole run of pick and place, planted message by message, with room for one fault."""

import json

import numpy as np
import pytest

from interlock.messages import (
    AdmittedCommand,
    Cancel,
    Command,
    Event,
    GateStatus,
    Grant,
    Heartbeat,
    ObjectPoses,
    Result,
    TaskRequest,
    Verdict,
)


class Run:
    """What the nodes of a run send, every 50 ms, until something goes wrong.

    Change ``until_ms`` to let a node die, ``cup`` to move the cup, ``seen_until_ms`` to hide it,
    ``robot`` to change the robot's state; call ``play`` to let time pass.
    """

    def __init__(self, plant, make):
        self.plant, self.make = plant, make
        self.now_ms, self.token = 0, "t1"
        self.until_ms = {}
        self.cup = np.array([0.5, 0.0, 0.05, 1, 0, 0, 0])
        self.seen_until_ms = float("inf")
        self.robot, self.status, self.commands = {}, {}, True
        self.number = 0
        self.last = {}
        self.seen = (self.cup.copy(), 0)
        self.rng = np.random.default_rng(5)

    def alive(self, node):
        return self.now_ms < self.until_ms.get(node, float("inf"))

    def send(self, edge, message, *, after_ms=0, **kw):
        """Record one message of a living node."""
        if not self.alive(edge.rpartition("/")[0]):
            return self.last.get(edge)
        at_ms = self.now_ms + after_ms + self.rng.uniform(0, 0.4)
        self.last[edge] = self.plant.send(edge, message, at_ms, **kw)
        return self.last[edge]

    def begin(self, name="grasp cup_red", owner="policy", touches=("cup_red",)):
        """Let the policy ask for the arm and get it."""
        request = f"{owner}-{self.token}"
        self.send("policy/request", TaskRequest(request=request, owner=owner, name=name,
                                                touches=touches))  # fmt: skip
        self.grant("granted", owner=owner)

    def grant(self, state, reason="", owner="policy", token=None):
        token = token or self.token
        grant = Grant(request=f"{owner}-{token}", owner=owner, task=token, state=state,
                      reason=reason)  # fmt: skip
        return self.send("gate/grant", grant, after_ms=2)

    def play(self, seconds):
        """Let every node do what it does for a while."""
        for _ in range(int(seconds * 20)):
            self.step()
            self.now_ms += 50

    def step(self):
        state = self.send("sim/state", self.make.state(**self.robot))
        image = self.send("camera/image", self.make.picture(), after_ms=1, basis=[state],
                          observed_ms=state.stamp.observed_ns / 1e6)  # fmt: skip
        if self.now_ms < self.seen_until_ms:
            self.seen = (self.cup.copy(), image.stamp.observed_ns)
        if self.alive("camera"):
            poses = ObjectPoses(names=("cup_red",), world_from_object=self.seen[0][None],
                                confidence=np.ones(1),
                                observed_ns=np.array([self.seen[1]]))  # fmt: skip
            self.send("tracker/objects", poses, after_ms=5, basis=[image],
                      observed_ms=self.seen[1] / 1e6)  # fmt: skip
        self.send("policy/heartbeat", Heartbeat(owner="policy"))
        self.send("gate/status", GateStatus(**({"state": "ready", "boot": "a"} | self.status)))
        if self.commands:
            self.command()

    def command(self, *, codes=(), sentence="", thinking_ms=8, **fields):
        """One command and its verdict."""
        basis = [self.last["sim/state"], self.last["tracker/objects"]]
        values = {"task": self.token, "space": "hold"} | fields
        sent = self.send("policy/command", Command(**values), after_ms=thinking_ms, basis=basis)
        if sent is None or not self.alive("policy"):
            return None
        verdict = Verdict(task=values["task"], source="policy", seq=sent.stamp.seq,
                          admitted=not codes, codes=tuple(codes), sentence=sentence,
                          number=-1 if codes else self.number)  # fmt: skip
        self.send("gate/verdict", verdict, after_ms=thinking_ms + 1, basis=[sent])
        if not codes:
            self.send("gate/command", admitted(self.number, self.token),
                      after_ms=thinking_ms + 1, basis=[sent])  # fmt: skip
            self.number += 1
        return sent

    def close_fingers(self, **kw):
        return self.command(space="gripper", gripper_m=np.array([0.0]), **kw)

    def end(self, status="failed", code="", reason="", goal="policy/1"):
        """Let the task report its end and end the run; return the trace."""
        self.report(status, code, reason, goal)
        return self.plant.trace()

    def report(self, status="failed", code="", reason="", goal="policy/1"):
        """Let the task report its end."""
        data = json.dumps({"took_s": (self.now_ms + 30) / 1e3, "code": code})
        result = Result(goal=goal, status=status, code=code, reason=reason, data=data)
        self.send("policy/result", result, after_ms=30)

    def cancel(self, source, task=None, reason="", *, finished=False):
        cancel = Cancel(task=task or self.token, reason=reason, finished=finished)
        return self.send(f"{source}/cancel", cancel, after_ms=10)

    def event(self, source, text, kind="warning", **data):
        return self.send(f"{source}/event", Event(kind=kind, text=text, data=json.dumps(data)))


def admitted(number, task):
    return AdmittedCommand(run="r", number=number, task=task, start_ns=0, continues=number - 1,
                           period_ns=1, position=np.zeros((2, 7)), velocity=np.zeros((2, 7)),
                           acceleration=np.zeros((2, 7)), stop_index=1)  # fmt: skip


@pytest.fixture
def run(plant, make):
    found = Run(plant, make)
    found.begin()
    found.play(1.0)
    return found
