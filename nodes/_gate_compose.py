"""Put a Gate together from names: a configuration, a robot and a scene."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from interlock.gate import Gate, GateConfig, Run, read_config
from interlock.gate.config import MODES
from interlock.messages.errors import SettingsError
from interlock.nodes._gate_config import gate_config_path
from interlock.nodes._scene import scene
from interlock.nodes._seal_key import seal_key
from interlock.robots.checker import PandaChecker
from interlock.robots.scene import scene_obstacles

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from interlock.gate.robot import RobotModel
    from interlock.nodes._node import Context


def gate_config(name: str, folder: Path, mode: str = "") -> GateConfig:
    """Return a configuration.

    Args:
        name: A shipped one (``default`` and the like), or the path of a YAML file.
        folder: Where a relative path starts.
        mode: Mode in place of the configuration's; empty keeps it.

    Raises:
        SettingsError: If there is none of that name, or it is not acceptable.
    """
    config = read_config(gate_config_path(name, folder))
    if not mode:
        return config
    if mode not in MODES:
        raise SettingsError(f"gate: MODE {mode!r}: expected one of {', '.join(MODES)}")
    return replace(config, mode=mode)  # type: ignore[arg-type]


def gate_run(context: Context) -> Run:
    """Return what binds a Gate to its run; ``boot`` differs after every restart."""
    boot = "lockstep" if context.lockstep else f"{os.getpid()}-{time.monotonic_ns():x}"
    return Run(run_id=context.run_id, key=seal_key(context), boot=boot)


def build_gate(
    config: GateConfig,
    scene_name: str,
    context: Context,
    run: Run,
    clock_ns: Callable[[], int] | None = None,
) -> Gate:
    """Return a Gate for a Panda in a scene: it knows what stands still; objects it must see."""
    built = scene(scene_name, context)
    still = {obstacle.name for obstacle in built.fixtures}
    everything: list[Any] = list(scene_obstacles(built.settings, built.layout))
    return Gate(
        config,
        # The same attributes under their own names: robots/ does not import gate/.
        cast("RobotModel", PandaChecker()),
        run=run,
        fixtures=[o for o in everything if o.name in still],
        objects=[o for o in everything if o.name not in still],
        clock_ns=clock_ns,
    )
