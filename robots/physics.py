"""The one import of MuJoCo.

With ``MUJOCO_GL`` naming a missing or misspelt back end, ``import mujoco`` itself dies with an
error that names neither. Physics needs no picture, so the variable is hidden during the import;
``gl_camera`` honours it later and says in one line what is wrong with it.
"""

from __future__ import annotations

import os

_asked = os.environ.pop("MUJOCO_GL", None)
try:
    import mujoco as mujoco
finally:
    if _asked is not None:
        os.environ["MUJOCO_GL"] = _asked
