"""The robot as one task has it: control cycles, motion, the gripper, objects as they are now."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.messages import Command, StaleDataError
from interlock.operators.world import STATE, ObjectPose
from interlock.policies.errors import SkillError, SlippedError
from interlock.policies.skills.drift import FASTEST_MPS, Drift
from interlock.policies.skills.grip import slip_text, slipped
from interlock.policies.skills.known import UNKNOWN, Thing
from interlock.policies.skills.mover import LEAD_NS, LIVE_LEAD_NS, Mover, Now
from interlock.policies.skills.poses import yaw_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from numpy.typing import NDArray

    from interlock.messages import Basis, RobotState
    from interlock.policies.lease import Lease
    from interlock.policies.runtime import Runtime
    from interlock.policies.skills.poses import Target
    from interlock.policies.task import Task

    Vector = NDArray[np.float64]

CYCLE_S = 0.02
OBJECT_MAX_AGE_MS = 250.0
#: How long a skill holds still for data that does not come, in s.
PATIENCE_S = 1.2
#: From a sighting to where the arm is when it has acted on it, in s.
AHEAD_S = 0.2
GRIP_TIMEOUT_S = 1.5
#: Width and force of the fingers must be steady for this many cycles.
STEADY_CYCLES = 3
STEADY_M = 0.0004


class Body:
    """One task's way to see and move, under a token of the Gate.

    Args:
        runtime: The owner's runtime.
        task: The task that moves.
        lease: The token, already granted.
    """

    def __init__(self, runtime: Runtime, task: Task[Any], lease: Lease) -> None:
        self.runtime, self.task, self.lease = runtime, task, lease
        lead_ns = LEAD_NS if runtime.lockstep else LIVE_LEAD_NS
        self.mover = Mover(runtime.arm, self._send, token=lease.token, lead_ns=lead_ns)
        self._basis: dict[str, Basis] = {}
        self._drifts: dict[str, Drift] = {}
        #: How the downward tool is turned about the vertical when the task begins, in rad.
        self.yaw_rad = yaw_of(runtime.arm.forward(runtime.state().commanded_position))
        lease.on_verdict = self.mover.on_verdict

    # ----- seeing

    @property
    def now_ns(self) -> int:
        """Time of this control cycle, in ns."""
        return self.runtime.loop.now_ns

    @property
    def tool(self) -> Vector:
        """Measured world_from_tool, shape (7,)."""
        return self._now().state.world_from_tool

    @property
    def steady(self) -> bool:
        """True when the tool moves no faster than what it follows may."""
        return self._now().state.tool_speed_mps <= FASTEST_MPS

    async def cycle(self) -> RobotState:
        """Wait for the next control cycle; the token must still hold, the state must be fresh.

        Raises:
            AuthorityError: If the token is void.
            StaleDataError: If the robot's state has not come for ``PATIENCE_S``.
        """
        await asyncio.sleep(CYCLE_S)
        self.lease.check()
        give_up_ns = self.now_ns + int(PATIENCE_S * 1e9)
        while True:
            try:
                return self._now().state
            except StaleDataError:
                if self.now_ns >= give_up_ns:
                    raise
            await asyncio.sleep(CYCLE_S)
            self.lease.check()

    async def find(self, target: Target, *, max_age_ms: float = OBJECT_MAX_AGE_MS) -> Vector:
        """Return world_from_target, shape (7,), as it is now; hold still while it is stale.

        Raises:
            StaleDataError: If no fresh pose has come for ``PATIENCE_S``.
        """
        if not isinstance(target, str):
            return np.array(target if len(target) == 7 else (*target, 1.0, 0.0, 0.0, 0.0))
        if target in self.runtime.places:
            return np.array([*self.runtime.places[target].top_m, 1.0, 0.0, 0.0, 0.0])
        give_up_ns = self.now_ns + int(PATIENCE_S * 1e9)
        name = self._named_by(target)
        while True:
            try:
                return self._seen(target, max_age_ms)
            except StaleDataError:
                if self.now_ns >= give_up_ns:
                    raise
            if name and getattr(self.task.skill, name) != target:
                return await self.find(getattr(self.task.skill, name), max_age_ms=max_age_ms)
            self.mover.hold()
            self.task.phase = f"waiting for {target}"
            await self.cycle()

    def ahead(self, target: Target, pose: Vector) -> Vector:
        """Return where a pose just found will be when a motion planned now gets there."""
        drift = self._drifts.get(target) if isinstance(target, str) else None
        if drift is None:
            return pose
        moved = pose.copy()
        moved[:3] += drift.velocity() * AHEAD_S
        return moved

    def thing(self, target: Target) -> Thing:
        """Return what is known of an object's shape."""
        return self.runtime.things.get(target, UNKNOWN) if isinstance(target, str) else UNKNOWN

    # ----- moving

    async def line(self, pose: Vector) -> bool:
        """Move for one control cycle toward a downward tool pose; True when arrived."""
        arrived = self.mover.to_line(pose, self._now())
        await self.cycle()
        return arrived

    async def joints(self, position: Vector) -> bool:
        """Move for one control cycle toward joint positions, in rad; True when arrived."""
        arrived = self.mover.to_joints(position, self._now())
        await self.cycle()
        return arrived

    async def pose(self, pose: Vector) -> bool:
        """Move for one control cycle toward any tool pose, on a curved way; True when arrived."""
        arrived = self.mover.to_pose(pose, self._now())
        await self.cycle()
        return arrived

    async def rest(self) -> None:
        """Stand still until the arm is measured at rest."""
        self.mover.hold()
        while not (await self.cycle()).at_rest:
            pass

    # ----- the fingers

    async def grip(
        self,
        width_m: float,
        *,
        force_n: float = 40.0,
        along: Callable[[], Awaitable[Any]] | None = None,
    ) -> RobotState:
        """Move the fingers and wait until they stand still or press.

        Args:
            width_m: Distance between the fingers to go to, in m.
            force_n: Largest force on each pad, in N.
            along: What the arm does in each control cycle meanwhile; None stands still.
        """
        command = Command(
            task=self.lease.token,
            space="gripper",
            gripper_m=np.array([width_m]),
            gripper_force_n=force_n,
        )
        answers, now_ns = self.mover.answers, self.now_ns
        answers.asked(self._send(command), now_ns=now_ns, start_ns=now_ns, rows=0)
        give_up_ns = now_ns + int(GRIP_TIMEOUT_S * 1e9)
        steady, last = 0, -1.0
        while steady < STEADY_CYCLES and self.now_ns < give_up_ns:
            await (along or self.cycle)()
            state = self._now().state
            told = abs(state.gripper_target_m - width_m) < 1e-4
            still = abs(state.gripper_width_m - last) < STEADY_M
            steady = steady + 1 if told and still else 0
            last = state.gripper_width_m
            answers.react(self.now_ns)
        state = self._now().state
        if not abs(state.gripper_target_m - width_m) < 1e-4:
            raise SkillError(f"the fingers were told {width_m * 1e3:.0f} mm but did not obey")
        return state

    def check_still_held(self) -> None:
        """Raise SlippedError when the held object has left the fingers."""
        held = self.runtime.held
        if held is not None and slipped(held, self._now().state):
            self.runtime.held = None
            raise SlippedError(slip_text(held, self._now().state))

    # -----

    def _now(self) -> Now:
        entry = self.runtime.read(STATE, max_age_ms=self.runtime.state_max_age_ms)
        if entry.basis is not None:
            self._basis[STATE] = entry.basis
        return Now(time_ns=self.now_ns, state=entry.value, observed_ns=entry.observed_ns)

    def _named_by(self, target: Target) -> str:
        """Return the parameter of the skill that holds a target, to notice when it is changed."""
        skill = self.task.skill
        names = skill.targets if skill is not None else ()
        return next((n for n in names if getattr(skill, n, None) == target), "")

    def _seen(self, name: str, max_age_ms: float) -> Vector:
        entry = self.runtime.read(name, max_age_ms=max_age_ms)
        if not isinstance(entry.value, ObjectPose):
            raise SkillError(f"{name!r} is no object with a pose but {str(entry.value)[:60]!r}")
        if entry.basis is not None:
            self._basis[name] = entry.basis
        drift = self._drifts.setdefault(name, Drift())
        drift.see(entry.observed_ns, entry.value.world_from_object[:3])
        return entry.value.world_from_object

    def _send(self, command: Command) -> int:
        """Send a command with what was read since the last one as its basis."""
        number = self.runtime.send("command", command, tuple(self._basis.values()))
        self._basis.clear()
        return number
