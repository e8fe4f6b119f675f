"""The Panda of MuJoCo Menagerie (meshes, Apache-2.0) in place of our primitive one.

The model is the user's: a checkout of Menagerie, or the package ``mujoco-menagerie``, which
downloads it. Joints, their order and limits are checked; servo, gripper and contacts of the pads
are ours, so that a command means the same on both. A scene asks for it with ``arm: menagerie``.
"""

from __future__ import annotations

import importlib
import os
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from interlock.robots import panda, panda_model
from interlock.robots.geometry import RobotError
from interlock.robots.panda_model import ArmText

ENVIRONMENT_VARIABLE = "INTERLOCK_MENAGERIE"
_FOLDER = "franka_emika_panda"
_PAD_CONTACT = ET.fromstring(f"<geom {panda_model.PAD_CONTACT}/>").attrib
# Menagerie writes turns with seven digits, which its limits do not need.
_LIMIT_TOLERANCE_RAD = 1e-6


@dataclass(frozen=True, slots=True)
class MenageriePanda:
    """A Menagerie Panda on disk.

    Attributes:
        path: Its ``panda.xml``.
    """

    path: Path

    def arm(self) -> ArmText:
        """Return its MJCF fragments, as ``panda_model.arm`` does for ours.

        Raises:
            RobotError: If the file is not the Panda that we know.
        """
        try:
            root = ET.parse(self.path).getroot()
        except (OSError, ET.ParseError) as error:
            raise RobotError(f"cannot read {self.path}: {error}") from error
        link0 = root.find("worldbody/body[@name='link0']")
        if link0 is None:
            raise RobotError(f"{self.path} has no body 'link0'; expected Menagerie's panda.xml")
        _check_joints(root, link0, self.path)
        _adapt_bodies(link0)
        meshes = self.path.parent / "assets"
        sections = "".join(
            _text(section)
            for name in ("default", "asset", "equality", "contact")
            for section in root.findall(name)
        )
        rest = (
            f'<compiler meshdir="{meshes.resolve()}"/>{sections}{panda_model.grip_tendon()}'
            f"<actuator>{panda_model.actuators()}</actuator>"
        )
        return ArmText(_text(link0), rest)


def find_menagerie(path: Path | None = None) -> MenageriePanda:
    """Find the user's model.

    Args:
        path: ``panda.xml``, its folder, or a checkout of Menagerie; None looks at the variable
            INTERLOCK_MENAGERIE and then asks the package ``mujoco-menagerie``.

    Raises:
        RobotError: If there is none; says how to get one.
    """
    if path is None and os.environ.get(ENVIRONMENT_VARIABLE):
        path = Path(os.environ[ENVIRONMENT_VARIABLE])
    folder = _from_package() if path is None else path
    for candidate in (folder, folder / "panda.xml", folder / _FOLDER / "panda.xml"):
        if candidate.is_file():
            return MenageriePanda(candidate)
    raise RobotError(
        f"no Menagerie Panda at {folder}. Give the path of a checkout in {ENVIRONMENT_VARIABLE}, "
        "or `pip install mujoco-menagerie` and have network once."
    )


def _from_package() -> Path:
    try:
        package = importlib.import_module("mujoco_menagerie")
    except ImportError as error:
        raise RobotError(
            f"no Menagerie Panda: {ENVIRONMENT_VARIABLE} is not set and the package is not "
            "installed. Set it to a checkout, or `pip install mujoco-menagerie`."
        ) from error
    try:
        return Path(package.get(_FOLDER).path())
    except (package.MenagerieError, OSError) as error:
        raise RobotError(f"mujoco-menagerie cannot provide {_FOLDER}: {error}") from error


def _check_joints(root: ET.Element, link0: ET.Element, path: Path) -> None:
    joints = {str(j.get("name")): j for j in link0.iter("joint") if j.get("name")}
    arm = tuple(name for name in joints if name.startswith("joint"))
    if arm != panda.JOINT_NAMES:
        raise RobotError(f"{path}: joints {arm}, expected {panda.JOINT_NAMES}")
    usual = root.find("default/default[@class='panda']/joint")
    fallback = "" if usual is None else usual.get("range", "")
    limits = panda.LIMITS
    for name, low, high in zip(arm, limits.position_low, limits.position_high, strict=True):
        given = np.array(joints[name].get("range", fallback).split(), dtype=float)
        if given.shape != (2,) or np.abs(given - (low, high)).max() > _LIMIT_TOLERANCE_RAD:
            raise RobotError(f"{path}: {name} has range {given}, expected {low} to {high} rad")


def _adapt_bodies(link0: ET.Element) -> None:
    for body in (link0, *link0.iter("body")):
        body.set("gravcomp", "1")
        if body.get("name") == "hand":
            body.extend(ET.fromstring(f"<body>{panda_model.hand_fixtures()}</body>"))
        if str(body.get("name")).endswith("_finger"):
            for joint in body.findall("joint"):
                joint.set("armature", panda_model.FINGER_ARMATURE)
                joint.set("damping", panda_model.FINGER_DAMPING)
            for geom in body.findall("geom"):
                if geom.get("class") != "visual":
                    geom.attrib.update(_PAD_CONTACT)


def _text(element: ET.Element) -> str:
    return ET.tostring(element, encoding="unicode")
