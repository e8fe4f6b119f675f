"""Checks the Gate can run, by the name used in ``checks:`` of configs/gate/*.yml."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.gate.checks.data_age import DataAge
from interlock.gate.checks.gripper import Gripper
from interlock.gate.checks.joint_range import JointRange
from interlock.gate.checks.joint_rates import JointAcceleration, JointJerk, JointVelocity, Tracking
from interlock.gate.checks.path import Path
from interlock.gate.checks.recovery import Recovery
from interlock.gate.checks.separation import Separation
from interlock.gate.checks.workspace import ToolSpeed, Workspace

if TYPE_CHECKING:
    from interlock.gate.proposal import Check

#: Name in YAML -> check. Its fields are the check's settings.
CHECKS: dict[str, type[Check]] = {
    cls.name: cls
    for cls in (
        DataAge,
        JointRange,
        JointVelocity,
        JointAcceleration,
        JointJerk,
        Tracking,
        Workspace,
        ToolSpeed,
        Gripper,
        Path,
        Recovery,
        Separation,
    )
}
