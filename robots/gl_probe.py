"""Find an OpenGL back end that works here, without risking this process.

Each back end is tried in a process of its own, because a missing library may end the process
that imports it. This module imports neither MuJoCo nor OpenGL and sets no environment variable.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from interlock.messages.errors import InterlockError, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

BACKENDS = ("egl", "osmesa", "glfw")
_FIXES = {
    "egl": "apt-get install libegl1 libegl-mesa0 libgl1-mesa-dri",
    "osmesa": "apt-get install libosmesa6",
    "glfw": "start it where there is a display (DISPLAY is set), or use egl",
}
_TRIAL = """
import mujoco
model = mujoco.MjModel.from_xml_string(
    '<mujoco><worldbody><light pos="0 0 2"/><geom size="1" rgba="1 1 1 1"/></worldbody></mujoco>')
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
with mujoco.Renderer(model, 16, 16) as renderer:
    renderer.update_scene(data)
    if renderer.render().max() == 0:
        raise SystemExit("the picture is black")
"""


class GlError(InterlockError, RuntimeError):
    """No usable OpenGL; the text says what to install or to set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GlBackend:
    """What came of trying one back end.

    Attributes:
        name: egl, osmesa or glfw.
        works: Whether it drew a picture.
        reason: Why not, in a few words; empty when it works.
        fix: What would mend it; empty when it works.
    """

    name: str
    works: bool
    reason: str = ""
    fix: str = ""


def try_backend(name: str, *, timeout_s: float = 20.0) -> GlBackend:
    """Draw a small picture with one back end in a process of its own."""
    environment = {**os.environ, "MUJOCO_GL": name}
    environment.pop("PYOPENGL_PLATFORM", None)
    try:
        trial = subprocess.run(
            [sys.executable, "-c", _TRIAL],
            env=environment,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        reason = f"no picture within {timeout_s:g} s"
        return GlBackend(name=name, works=False, reason=reason, fix=_FIXES[name])
    if trial.returncode == 0:
        return GlBackend(name=name, works=True)
    lines = [line.strip() for line in trial.stderr.splitlines() if line.strip()]
    reason = lines[-1] if lines else f"the process ended with {trial.returncode}"
    return GlBackend(name=name, works=False, reason=reason[:160], fix=_FIXES[name])


def probe(*, timeout_s: float = 20.0) -> tuple[GlBackend, ...]:
    """Try every back end."""
    return tuple(try_backend(name, timeout_s=timeout_s) for name in BACKENDS)


def choose_backend(
    environment: Mapping[str, str] | None = None, *, timeout_s: float = 20.0
) -> GlBackend:
    """Return the back end to use: the one that ``MUJOCO_GL`` names, else the first that works.

    Raises:
        GlError: If the named one is unknown or fails, or none works; one line with the fix.
    """
    asked = (os.environ if environment is None else environment).get("MUJOCO_GL", "").strip()
    if asked and asked not in BACKENDS:
        raise GlError(
            f"MUJOCO_GL={asked}: no such back end; {nearest(asked, BACKENDS)}. Unset it to let "
            "Interlock choose, or use the ray camera, which needs no OpenGL."
        )
    tried = []
    for name in [asked] if asked else BACKENDS:
        backend = try_backend(name, timeout_s=timeout_s)
        if backend.works:
            return backend
        tried.append(backend)
    found = "; ".join(f"{b.name}: {b.reason} (mend: {b.fix})" for b in tried)
    prefix = f"MUJOCO_GL={asked} does not work here" if asked else "no OpenGL works here"
    raise GlError(f"{prefix}: {found}. Or use the ray camera, which needs no OpenGL.")
