"""The folder of a run and the environment that its processes inherit."""

from __future__ import annotations

import datetime
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from interlock.cli.dora_tool import dora_environment
from interlock.cli.run_processes import RUN_DIR
from interlock.messages.errors import InterlockError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlock.gate.graph_nodes import GraphNode


class RunFolderError(InterlockError):
    """The folder of a run can't be created."""


def new_run_folder(runs: Path, name: str) -> Path:
    """Create ``runs/<time>-<name>`` and return it, absolute.

    Raises:
        RunFolderError: If it can't be created.
    """
    now = datetime.datetime.now(tz=datetime.UTC).astimezone()
    base = runs.resolve() / f"{now:%Y%m%d-%H%M%S}-{name}"
    try:
        runs.mkdir(parents=True, exist_ok=True)
        for suffix in ("", *(f"-{n}" for n in range(2, 1000))):
            folder = base.with_name(base.name + suffix)
            try:
                folder.mkdir()
            except FileExistsError:
                continue
            return folder
    except OSError as error:
        raise RunFolderError(
            f"can't create {base}: {error.strerror}. Choose another folder with --runs."
        ) from error
    raise RunFolderError(f"{base} exists 999 times; choose another folder with --runs")


def transport_overlay() -> Path:
    """Return the file with dora's transport settings."""
    return Path(str(resources.files("interlock.configs").joinpath("transport.json5")))


def run_environment(run_dir: Path, seed: int) -> dict[str, str]:
    """Return the environment of a run."""
    return dora_environment(
        {
            "DORA_ZENOH_CONFIG_OVERLAY": str(transport_overlay()),
            RUN_DIR: str(run_dir),
            "INTERLOCK_STARTED": "1",
            "INTERLOCK_SEED": str(seed),
        }
    )


def gl_environment(nodes: Sequence[GraphNode]) -> dict[str, str]:
    """Return the OpenGL back end for a run, tried in a process of its own, if a node draws with it.

    A wrong MUJOCO_GL fails `import mujoco`, so it is not handed to nodes that do not need it.

    Raises:
        GlError: If a node needs OpenGL and none works here, or not the one that is asked for.
    """
    if not any(str(node.env.get("RENDERER", "")) == "gl" for node in nodes):
        return {"MUJOCO_GL": ""}
    from interlock.robots.gl_probe import choose_backend

    return {"MUJOCO_GL": choose_backend().name}
