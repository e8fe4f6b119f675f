"""VLA policy node: a served model moves the robot through the Gate, as the owner of one task.

Inputs:   state, image or image_<name> (one per camera), verdict, grant, status, tick;
          value (a WorldValue ``instruction`` changes the prompt while it runs).
Outputs:  command, request, heartbeat, cancel, feedback, result, event.
"""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from interlock.messages import Image, SettingsError, StaleDataError
from interlock.nodes.policy import PolicyNode
from interlock.operators.world import STATE
from interlock.policies.vla.asker import Asker
from interlock.policies.vla.client import PolicyClient
from interlock.policies.vla.drive import Drive, Sight
from interlock.policies.vla.pilot import Pilot
from interlock.policies.vla.preset_files import load_preset
from interlock.policies.vla.robot import PANDA, Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable

    from interlock.messages import Basis, Output, Received, RobotState
    from interlock.nodes._node import Context

_MS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """The newest picture of one camera."""

    pixels: Any
    observed_ns: int
    basis: Basis


class VlaPolicyNode(PolicyNode):
    """Connects, checks the contract, warms up, then plays the policy's chunks."""

    @dataclass(frozen=True, kw_only=True)
    class Settings(PolicyNode.Settings):
        """What the dataflow may set; the server's address and token come from the environment.

        Attributes:
            preset: Policy preset, ``family/name`` or a YAML file.
            policy_config: YAML file that overrides the preset; empty for none.
            url: Address of the server; INTERLOCK_VLA_URL wins.
            prompt: The instruction.
            touches: Objects that the policy may touch, with spaces between.
            image_max_age_ms: Older pictures are not shown to the policy.
            max_steps: Control steps of 20 ms at most; 0 for no budget.
            lockstep_answer_ms: Simulated time that an answer takes in lockstep.
        """

        policy: str = "vla"
        preset: str = "interlock/panda"
        policy_config: str = ""
        url: str = ""
        prompt: str = ""
        touches: str = ""
        image_max_age_ms: float = 400.0
        max_steps: int = 0
        lockstep_answer_ms: float = 100.0

    inputs: ClassVar = {**PolicyNode.inputs, "image": Image}

    def __init__(self, settings: Settings, context: Context) -> None:
        self._frames: dict[str, _Frame] = {}
        self._looks = 0
        self._asker: Asker | None = None
        super().__init__(settings, context)

    def _make(self) -> Any:
        settings, context = self.settings, self.context
        if not settings.prompt:
            raise SettingsError(f"node {context.node_id}: PROMPT is empty; say what is to be done")
        config = Path(settings.policy_config) if settings.policy_config else None
        preset = load_preset(settings.preset, config=config, environment=os.environ)
        if settings.url and not os.environ.get("INTERLOCK_VLA_URL"):
            wire = dataclasses.replace(preset.wire, url=settings.url)
            preset = dataclasses.replace(preset, wire=wire)
        token = os.environ.get("INTERLOCK_VLA_TOKEN")
        lockstep_ns = round(settings.lockstep_answer_ms * _MS) if context.lockstep else None
        self._asker = Asker(lambda: PolicyClient(preset.wire, token), lockstep_ns=lockstep_ns)
        pilot = Pilot(preset, PANDA, self._asker)
        self._cameras = [
            preset.camera(f.camera) for f in preset.observation.fields.values() if f.camera
        ]
        drive = Drive(
            pilot=pilot,
            look=self._look,
            episode=f"{context.run_id}-{context.seed}",
            max_steps=settings.max_steps,
            touch=tuple(settings.touches.split()),
        )

        async def main() -> str:
            result = await self.runtime.start(drive)
            remark = f"; {result['remark']}" if result["remark"] else ""
            return f"{preset.name}: {result['done']}{remark}"

        return main

    def on_image(self, received: Received[Image], now_ns: int) -> Iterable[Output]:
        """Keep the newest picture of each camera; a copy, the buffer goes back to its sender."""
        image = received.message
        if image.camera in self._cameras:
            pixels = np.array(image.pixels[..., ::-1] if image.encoding == "bgr8" else image.pixels)
            self._frames[image.camera] = _Frame(
                pixels=pixels, observed_ns=received.stamp.observed_ns, basis=received.basis
            )
        return ()

    def _step(self, now_ns: int) -> Iterable[Output]:
        # No user's code runs here, and in lockstep a slow server is waited for: no time limit.
        if self._task is None and self.runtime.world.latest("state") is not None:
            self.runtime.loop.run_until_idle(now_ns)
            self._task = self.runtime.start(self._main(), name=self.settings.policy)
        outputs = self.runtime.step(now_ns)
        if self._task is not None and self._task.done():
            self._close(self._task)
        return outputs

    def on_stop(self, now_ns: int) -> Iterable[Output]:
        """End the program and the connection."""
        outputs = super().on_stop(now_ns)
        if self._asker is not None:
            self._asker.close()
        return outputs

    def _look(self) -> Sight:
        entry = self.runtime.read(STATE, max_age_ms=self.settings.state_max_age_ms)
        frames = {name: self._frame(name) for name in self._cameras}
        instruction = self.runtime.world.latest("instruction")
        self._looks += 1
        snapshot = Snapshot(
            id=self._looks,
            observed_ns=min([entry.observed_ns, *(f.observed_ns for f in frames.values())]),
            state=state_of(entry.value),
            images={name: frame.pixels for name, frame in frames.items()},
            prompt=str(instruction.value) if instruction else self.settings.prompt,
        )
        basis = () if entry.basis is None else (entry.basis,)
        return Sight(snapshot=snapshot, basis=(*basis, *(f.basis for f in frames.values())))

    def _frame(self, camera: str) -> _Frame:
        limit_ns = round(self.settings.image_max_age_ms * _MS)
        frame = self._frames.get(camera)
        age_ns = None if frame is None else self.runtime.loop.now_ns - frame.observed_ns
        if frame is None or age_ns is None or not age_ns <= limit_ns:
            raise StaleDataError(
                f"picture of {camera}", age_ns=age_ns, limit_ns=limit_ns, source="camera"
            )
        return frame


def state_of(state: RobotState) -> dict[str, Any]:
    """Return the state as presets name it."""
    return {
        "joint_position": state.position,
        "joint_velocity": state.velocity,
        "commanded_joint_position": state.commanded_position,
        "hand_position": state.world_from_tool[:3],
        "hand_orientation": state.world_from_tool[3:],
        "gripper_width": np.array([state.gripper_width_m]),
    }


NODE = VlaPolicyNode


def main() -> None:
    """Run under dora."""
    from interlock.nodes._dora import run

    run(NODE)


if __name__ == "__main__":
    main()
