"""Skills: closed-loop motions with typed parameters."""

from interlock.policies.skills.grasping import Approach, Grasp, Lift, Place, Release
from interlock.policies.skills.moves import Home, MoveTo, Wait
from interlock.policies.skills.skill import SKILLS, Skill, make_skill, skill

__all__ = [
    "SKILLS",
    "Approach",
    "Grasp",
    "Home",
    "Lift",
    "MoveTo",
    "Place",
    "Release",
    "Skill",
    "Wait",
    "make_skill",
    "skill",
]
