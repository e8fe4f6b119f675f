"""The scene that a node's settings name: one that ships with Interlock, or a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.robots.scene import Scene, build_scene
from interlock.robots.scene_settings import SceneSettings, load_scene, shipped_scene

if TYPE_CHECKING:
    from interlock.nodes._node import Context


def scene_settings(name: str, context: Context) -> SceneSettings:
    """Return the settings of a scene.

    Args:
        name: ``tabletop`` and the like, or the path of a YAML file, relative to the dataflow.
        context: The run.
    """
    if name.endswith((".yml", ".yaml")):
        return load_scene(context.dataflow_dir / name)
    return shipped_scene(name)


def scene(name: str, context: Context, layout_seed: int | None = None) -> Scene:
    """Build a scene with the layout of a seed (None: the seed of the run)."""
    seed = context.seed if layout_seed is None else layout_seed
    return build_scene(scene_settings(name, context), seed)
