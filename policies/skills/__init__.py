"""Skills: closed-loop motions with typed parameters."""

from interlock.policies.skills.contact import Follow, HandOver, Push, Tap
from interlock.policies.skills.grasping import Approach, Grasp, Lift
from interlock.policies.skills.moves import Home, MoveTo, Wait
from interlock.policies.skills.placing import Place, Release
from interlock.policies.skills.skill import SKILLS, Skill, make_skill, skill

__all__ = [
    "SKILLS",
    "Approach",
    "Follow",
    "Grasp",
    "HandOver",
    "Home",
    "Lift",
    "MoveTo",
    "Place",
    "Push",
    "Release",
    "Skill",
    "Tap",
    "Wait",
    "make_skill",
    "skill",
]
