"""What an agent may see: the answers to `info` and `observe`."""

from __future__ import annotations

import base64
import dataclasses
from typing import TYPE_CHECKING, Any

from interlock.messages.errors import nearest
from interlock.trials.errors import UsageError

if TYPE_CHECKING:
    from interlock.trials.backend import Camera, World
    from interlock.trials.task import Task


def describe(task: Task, world: World) -> dict[str, Any]:
    """Return what robot and task offer; skills are those this task allows."""
    info = world.info()
    data = dataclasses.asdict(info)
    data["skills"] = {key: info.skills[key] for key in allowed_skills(task, world)}
    return {"task": task.id, "max_steps": task.max_steps, "timeout_s": task.timeout_s, **data}


def allowed_skills(task: Task, world: World) -> list[str]:
    """Return the skills that the task lists and the world has."""
    return [key for key in task.skills if key in world.info().skills]


def observe(task: Task, world: World, values: dict[str, Any]) -> dict[str, Any]:
    """Return the sensed state, and pictures if they are asked for.

    Raises:
        UsageError: If a camera is not there.
    """
    result: dict[str, Any] = {"state": world.state(private=task.view == "state")}
    if values.get("image") or "camera" in values:
        cameras = _cameras(world, values.get("camera"))
        result["images"] = [_picture(world, camera, values) for camera in cameras]
    return result


def _cameras(world: World, name: str | None) -> list[Camera]:
    cameras = {camera.name: camera for camera in world.info().cameras}
    if name is None:
        return list(cameras.values())
    if name not in cameras:
        raise UsageError(f"no camera {name!r}; {nearest(name, cameras)}")
    return [cameras[name]]


def _picture(world: World, camera: Camera, values: dict[str, Any]) -> dict[str, Any]:
    width = int(values.get("width", camera.width))
    height = int(values.get("height", camera.height))
    png = world.picture(camera.name, width=width, height=height)
    data = base64.b64encode(png).decode("ascii")
    return {"camera": camera.name, "width": width, "height": height, "png_base64": data}
