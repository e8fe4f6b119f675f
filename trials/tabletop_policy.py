"""Let a served policy drive the tabletop: pictures and state in, chunks out, through the Gate."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from interlock.operators.world import STATE
from interlock.policies.vla.asker import Asker
from interlock.policies.vla.client import PolicyClient
from interlock.policies.vla.drive import Drive, Sight
from interlock.policies.vla.errors import PolicyError, SetupError
from interlock.policies.vla.pilot import Pilot
from interlock.policies.vla.robot import PANDA, Snapshot
from interlock.trials.errors import RefusedError
from interlock.trials.tabletop import PERIOD_NS

if TYPE_CHECKING:
    from collections.abc import Callable

    from interlock.messages import RobotState
    from interlock.policies.vla.preset import Preset
    from interlock.trials.backend import Motion
    from interlock.trials.plan import Plan

#: Pictures are taken every so many control steps, as a camera of 10 Hz would.
CAMERA_STEPS = 5
CAMERA_SIZE = 224
#: Simulated time that an answer takes, so that runs repeat.
ANSWER_NS = 100_000_000


def drive(
    world: Any,
    preset: Preset,
    plan: Plan,
    report: dict[str, Any],
    ended: Callable[[], bool],
) -> Motion:
    """Return the motion of a policy, from its first look to its end.

    Connecting, the contract and the warm-up come before the first control step and count as none.

    Args:
        world: The tabletop.
        preset: Model, wire and mapping.
        plan: The trial; its task says what to do.
        report: Filled at the end, whatever ends it: what was asked for, sent and measured, and how
            long answers took.
        ended: Whether the trial is over, however long the server still thinks.
    """
    asker = Asker(
        lambda: PolicyClient(preset.wire, os.environ.get("INTERLOCK_VLA_TOKEN")),
        lockstep_ns=ANSWER_NS,
        ended=ended,
    )
    pilot: Pilot | None = None
    try:
        pilot = Pilot(preset, PANDA, asker)
        yield from _fly(world, pilot, preset, plan)
        return {"done": pilot.done}
    except (SetupError, PolicyError) as error:
        raise _as_refusal(error) from error
    finally:
        if pilot is not None:
            report |= pilot.conduct.to_json() | {"remark": pilot.conduct.sentence}
            report["latency_ms"] = pilot.timing.medians()
            report["warmup_s"] = [round(s, 3) for s in asker.warmup_s]
        asker.close()


def _fly(world: Any, pilot: Pilot, preset: Preset, plan: Plan) -> Motion:
    """Let the pilot drive until its task is done; one step of the motion per control step."""
    work = Drive(
        pilot=pilot,
        look=_Look(world.stage, preset, plan.task.language or plan.task.title),
        episode=f"{plan.key}",
        max_steps=plan.task.max_steps,
        touch=world.movable,
    )
    task = world.stage.runtime.start(work, name=f"policy {preset.name}")
    while not task.done() and pilot.phase != "ready":
        world.stage.advance(PERIOD_NS)
    while not task.done():
        world.stage.advance(PERIOD_NS)
        yield
    error = task.error()
    if error is not None:
        raise _as_refusal(error)
    return {}


class _Look:
    """What the policy may see: the newest state, and pictures of up to 100 ms ago."""

    def __init__(self, stage: Any, preset: Preset, prompt: str) -> None:
        self._stage, self._prompt = stage, prompt
        fields = preset.observation.fields.values()
        self._cameras = [preset.camera(f.camera) for f in fields if f.camera]
        self._images: dict[str, Any] = {}
        self._count = 0

    def __call__(self) -> Sight:
        runtime = self._stage.runtime
        entry = runtime.read(STATE, max_age_ms=runtime.state_max_age_ms)
        if self._count % CAMERA_STEPS == 0:
            self._images = {
                name: self._stage.render(name, width=CAMERA_SIZE, height=CAMERA_SIZE)
                for name in self._cameras
            }
        self._count += 1
        snapshot = Snapshot(
            id=self._count,
            observed_ns=entry.observed_ns,
            state=_state_of(entry.value),
            images=self._images,
            prompt=self._prompt,
        )
        return Sight(snapshot=snapshot, basis=() if entry.basis is None else (entry.basis,))


def _state_of(state: RobotState) -> dict[str, Any]:
    return {
        "joint_position": state.position,
        "joint_velocity": state.velocity,
        "commanded_joint_position": state.commanded_position,
        "hand_position": state.world_from_tool[:3],
        "hand_orientation": state.world_from_tool[3:],
        "gripper_width": np.array([state.gripper_width_m]),
    }


def _as_refusal(error: BaseException) -> Exception:
    if isinstance(error, SetupError):
        return RefusedError(str(error), way_out="Use a preset that fits", codes=("setup",))
    if isinstance(error, PolicyError):
        return RefusedError(str(error), way_out="Check the policy server", codes=("policy",))
    codes = getattr(error, "codes", ())
    return RefusedError(str(error), way_out="The policy was given up", codes=tuple(codes))
