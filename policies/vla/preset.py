"""The schema of a preset: everything that lies between one model and one kind of robot.

`preset_files.py` reads and merges the YAML; `fit.py` checks a preset against a robot.
"""

from __future__ import annotations

from dataclasses import dataclass, field

# The settings reader looks these up at run time.
from interlock.operators.chunk_settings import ChunkSettings
from interlock.policies.vla.preset_action import Action, ActionPart
from interlock.policies.vla.preset_observation import Field, Form, Observation, StatePart
from interlock.policies.vla.wire import WireSettings  # noqa: TC001

__all__ = [
    "Action",
    "ActionPart",
    "Field",
    "Form",
    "Observation",
    "Preset",
    "StatePart",
    "StopRule",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRule:
    """When the policy is done.

    Attributes:
        still_steps: Steps in a row with a measured pose that does not change; 0 never stops.
        still_rad: Largest change of a joint that counts as still, in rad per step.
        still_m: Largest change of the gripper's width that counts as still, in m per step.
        max_inferences: Chunks asked for at most.
        budget_steps_left: Done when so few steps of the trial's budget are left.
    """

    still_steps: int = 0
    still_rad: float = 0.001
    still_m: float = 0.0005
    max_inferences: int = 100_000
    budget_steps_left: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """One model, one wire, one kind of robot.

    Attributes:
        name: ``family/name``, from the file.
        doc: One sentence.
        licence: Licence of the weights, or where to look.
        robots: Robots it fits; empty fits any whose state and actions match.
        cameras: Camera in this file -> camera of the robot, where the names differ.
        wire: Where the model is served and how it is spoken to.
        observation: What it is shown.
        action: What it answers.
        chunks: How its chunks are executed.
        stop: When it is done.
    """

    name: str
    doc: str
    wire: WireSettings
    licence: str = ""
    robots: tuple[str, ...] = ()
    cameras: dict[str, str] = field(default_factory=dict)
    observation: Observation = field(default_factory=Observation)
    action: Action = field(default_factory=Action)
    chunks: ChunkSettings = field(default_factory=ChunkSettings)
    stop: StopRule = field(default_factory=StopRule)

    def camera(self, name: str) -> str:
        """Return the robot's name of a camera named in this preset."""
        return self.cameras.get(name, name)
