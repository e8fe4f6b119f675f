"""Make the world a task asks for; a world is imported only when it is used.

Other packages add worlds as entry points of group ``interlock.worlds``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from interlock.messages.errors import nearest
from interlock.trials.errors import PreflightError

if TYPE_CHECKING:
    from interlock.trials.backend import World

WORLDS = {
    "cubepick": "interlock.trials.cubepick:CubePick",
    "tabletop": "interlock.trials.tabletop:Tabletop",
}
WORLDS_GROUP = "interlock.worlds"


def make_world(name: str) -> World:
    """Return a world by its name.

    Raises:
        PreflightError: If there is none, or what it needs is not installed.
    """
    if name.startswith("gym:"):
        from interlock.trials.gym_world import GymWorld

        return GymWorld(name.removeprefix("gym:"))
    target = WORLDS.get(name) or _plug_ins().get(name)
    if target is None:
        known = (*WORLDS, *_plug_ins())
        raise PreflightError(f"no world {name!r}; {nearest(name, known)}")
    module, _, attribute = target.partition(":")
    try:
        world: World = getattr(importlib.import_module(module), attribute)()
    except ImportError as error:
        raise PreflightError(
            f"world {name!r} needs {error.name or error}, which is not installed. "
            f"Install it: pip install 'interlock[{name}]'"
        ) from error
    return world


def _plug_ins() -> dict[str, str]:
    from importlib.metadata import entry_points

    return {entry.name: entry.value for entry in entry_points(group=WORLDS_GROUP)}
