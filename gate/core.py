"""The Gate: decides every command, and brings the arm to rest when nothing else may move it.

Pure: it is given messages and the time, and returns messages. It reads no clock and no file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlock.gate.admission import Admission, Run
from interlock.gate.authority import Authority
from interlock.gate.chain import Chain
from interlock.gate.checks.form import malformed, malformed_state
from interlock.gate.judgement import Judge, Question
from interlock.gate.latch import Latch
from interlock.gate.limits import resolve
from interlock.gate.monitors import Monitors
from interlock.gate.planner import Planner
from interlock.gate.rest_error import RestErrors
from interlock.gate.samples import end_ns
from interlock.gate.sequence import Rate, Sequence
from interlock.gate.surroundings import Surroundings
from interlock.messages.command import AdmittedCommand, Command, Verdict
from interlock.messages.task import Cancel, Event, GateStatus, Grant, Heartbeat, Reset, Stop

if TYPE_CHECKING:
    from collections import abc
    from collections.abc import Callable, Iterable

    from interlock.gate.config import GateConfig
    from interlock.gate.decision import Reason
    from interlock.gate.robot import Obstacle, RobotModel
    from interlock.messages.received import Received
    from interlock.messages.robot import ObjectPoses, RobotState
    from interlock.messages.task import TaskRequest

#: What the Gate has to say besides verdicts; the node sends each on the output of its type.
Reply = AdmittedCommand | Grant | Event


class Gate:
    """Decides every command.

    Args:
        config: What to check, and how.
        robot: Geometry and limits; owned by this Gate from here on.
        run: Id and key of the run.
        fixtures: What stands still.
        objects: What may move, with its shape; parked far away until it is seen.
        clock_ns: Measures how long judging takes; never used to decide.

    Raises:
        GateConfigError: If a limit or check is not acceptable.
    """

    def __init__(
        self,
        config: GateConfig,
        robot: RobotModel,
        *,
        run: Run,
        fixtures: abc.Sequence[Obstacle] = (),
        objects: abc.Sequence[Obstacle] = (),
        clock_ns: Callable[[], int] | None = None,
    ) -> None:
        checks = config.build_checks()
        limits = resolve(config.limits, robot.limits, robot.joint_names)
        self.config = config
        self._run = run
        self._joints = len(robot.joint_names)
        self.chain = Chain()
        self.surroundings = Surroundings(
            robot, limits, checks, fixtures=fixtures, objects=objects, zones=config.zones
        )
        self._judge = Judge(
            config,
            checks,
            planner=Planner(limits),
            chain=self.chain,
            surroundings=self.surroundings,
            clock_ns=clock_ns,
        )
        secret = run.key + run.run_id.encode()[:16] + run.boot.encode()[:16]
        self.authority = Authority(secret=secret[:64], max_lease_ms=config.max_lease_ms)
        self.rest_errors = RestErrors(robot)
        self._monitors = Monitors(config.monitors, self._judge, self.chain, self.surroundings)
        self._sequence = Sequence()
        self._rate = Rate(config.max_rate_hz)
        self._latch = Latch()
        self._admission = Admission(config, run, self._judge, self.chain)

    def judge(
        self, received: Received[Command], now_ns: int
    ) -> tuple[Verdict, AdmittedCommand | None]:
        """Decide a command; the second value goes to the driver, if there is one."""
        command, stamp = received.message, received.stamp
        wrong = self._rate.exceeded(stamp.source, now_ns) or malformed(command, self._joints)
        if wrong is not None:
            return self._admission.refuse(command, received, (wrong,)), None
        reasons = self._unauthorised(command, received)
        question = Question(
            command=command,
            source=stamp.source,
            basis=stamp.basis,
            touches=self.authority.touches(command.task),
        )
        if reasons:
            found = self._judge.assess(question, now_ns)
            return self._admission.refuse(command, received, reasons + found.reasons, found), None
        self.authority.hear_token(command.task, stamp.source, now_ns)
        return self._admission.decide(question, received, now_ns)

    def _unauthorised(self, command: Command, received: Received[Command]) -> tuple[Reason, ...]:
        source = received.stamp.source
        resources = {"joint": {"arm"}, "pose": {"arm"}, "hold": {"arm"}}.get(command.space, set())
        if command.gripper_m.size:
            resources = resources | {"gripper"}
        denied = self.authority.reason(command.task, source, resources)
        reasons = (self._latch.reason, denied, self._sequence.late(received))
        return tuple(r for r in reasons if r is not None)

    def on_state(self, received: Received[RobotState], now_ns: int) -> list[Reply]:
        """Take the robot's state, if it is one."""
        ahead_ns = received.stamp.observed_ns - now_ns
        wrong = malformed_state(received.message, self._joints, ahead_ns=ahead_ns)
        if wrong is not None:
            return [Event(kind="warning", text=f"gate: state ignored: {wrong}")]
        touches = self.authority.touches(self.authority.holder("gripper"))
        self.surroundings.on_state(received, touches)
        self._judge.motion.lead.observe(received.message)
        corrected = self.chain.observe(received.message, received.stamp.observed_ns)
        self.rest_errors.observe(self.chain, received.message, received.stamp.observed_ns)
        self.surroundings.expect_rest_error(self.rest_errors.margin_m)
        told = [] if corrected is None else [Event(kind="warning", text=f"gate: {corrected}")]
        return [*told, *self._hand_over(now_ns)]

    def on_objects(self, received: Received[ObjectPoses], now_ns: int) -> list[Reply]:
        """Take where objects are; stop if one has come into the way."""
        if not self.surroundings.on_objects(received, now_ns):
            return []
        return self._watch(now_ns, moved=True)

    def request(self, received: Received[TaskRequest], now_ns: int) -> list[Reply]:
        """Take a request for a task."""
        anew = self._began_anew(received, now_ns)
        grant = self.authority.request(received.message, received.stamp.source, now_ns)
        if grant.state != "queued":
            return [*anew, grant]
        granted = self._hand_over(now_ns)
        at_once = any(isinstance(r, Grant) and r.task == grant.task for r in granted)
        return [*anew, *granted] if at_once else [*anew, grant, *granted]

    def _began_anew(self, received: Received[Any], now_ns: int) -> list[Reply]:
        """Revoke what a node owned before it was started again."""
        source, why = received.stamp.source, "its node was started again"
        told = self.gone(source, now_ns, why) if self._sequence.began_anew(received) else []
        self._sequence.late(received)
        # Not of a task of the same request id: it would read as the answer to the new request.
        return [r for r in told if getattr(r, "request", None) != received.message.request]

    def heartbeat(self, received: Received[Heartbeat], now_ns: int) -> None:
        """Take a sign of life."""
        self.authority.hear(received.message.owner, received.stamp.source, now_ns)

    def cancel(
        self, received: Received[Cancel], now_ns: int, *, trusted: bool = False
    ) -> list[Reply]:
        """End a task, if it belongs to the sender or the sender is trusted; stop its motion."""
        message = received.message
        if not trusted and not self.authority.owned_by(message.task, received.stamp.source):
            return []
        why = message.reason or ("finished" if message.finished else "cancelled by its owner")
        ended = self.authority.end(message.task, reason=why, finished=message.finished)
        return self._after_change(ended, now_ns)

    def gone(self, source: str, now_ns: int, reason: str = "its node is gone") -> list[Reply]:
        """Revoke what a node owned: it has ended, died or been started again."""
        self._sequence.forget(source)
        return self._after_change(self.authority.end_source(source, reason), now_ns)

    def stop(self, message: Stop, now_ns: int) -> list[Reply]:
        """Operator stop: latches, revokes every task and brings the arm to rest."""
        told = self._latch.press(message)
        self.authority.blocked = self._latch.sentence
        return [*told, *self.authority.end_all(self._latch.sentence), *self._brake(now_ns)]

    def reset(self, message: Reset, now_ns: int) -> list[Reply]:
        """Release the operator stop; nothing moves until a task is asked for anew."""
        self.authority.blocked = ""
        return list(self._latch.release(message))

    def tick(self, now_ns: int) -> list[Reply]:
        """Look at leases and monitors; call at least every 20 ms."""
        replies = self._after_change(self.authority.expire(now_ns), now_ns)
        return [*replies, *self._watch(now_ns, moved=False), *self._hand_over(now_ns)]

    def status(self, now_ns: int) -> GateStatus:
        """Return what the Gate is doing."""
        state, reason = "ready", ""
        if self._latch.reason is not None:
            state, reason = "stopped", self._latch.reason.sentence
        elif not self.chain.known:
            state, reason = "waiting", "the robot's state was not received yet"
        elif self._monitors.holding:
            state, reason = "held", self._monitors.holding
        return GateStatus(
            state=state,
            reason=reason,
            arm_task=self.authority.holder("arm"),
            gripper_task=self.authority.holder("gripper"),
            at_rest=self.at_rest(now_ns),
            admitted=self._admission.admitted,
            refused=self._admission.refused,
            boot=self._run.boot,
        )

    def at_rest(self, now_ns: int) -> bool:
        """Return whether the arm is measured at rest and commanded to be."""
        state = self.surroundings.state
        return state is not None and state.at_rest and self.chain.rest_ns() <= now_ns

    def _after_change(self, changed: Iterable[Grant], now_ns: int) -> list[Reply]:
        grants = list(changed)
        braked = any(g.task == self._admission.arm_task for g in grants)
        stops = self._brake(now_ns) if braked else []
        return [*grants, *stops, *self._hand_over(now_ns)] if grants else []

    def _watch(self, now_ns: int, *, moved: bool) -> list[Reply]:
        touches = self.authority.touches(self._admission.arm_task)
        trouble = self._monitors.look(touches, now_ns, moved=moved)
        if trouble is None:
            # A stop that came late to the driver is sent again, until it brakes.
            over = not self.authority.live(self._admission.arm_task)
            return self._brake(now_ns) if over else []
        return [Event(kind="warning", text=f"gate: held, {trouble}"), *self._brake(now_ns)]

    def _brake(self, now_ns: int) -> list[Reply]:
        """Return the stop from what is executed; nothing when the arm is at rest anyway."""
        start_ns = self._judge.motion.earliest_ns(now_ns)
        newest = self.chain.newest
        if not self.chain.known or newest is None or end_ns(newest) <= start_ns:
            return []
        if newest.stop_index == 0 and newest.start_ns <= start_ns:
            return []
        return [
            self._admission.send(self._judge.motion.stop_from(start_ns), self._admission.arm_task)
        ]

    def _hand_over(self, now_ns: int) -> list[Reply]:
        return list(self.authority.hand_over(arm_at_rest=self.at_rest(now_ns)))
