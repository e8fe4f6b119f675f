"""`interlock doctor`: which OpenGL back ends draw a picture here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from interlock.cli.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator


def gl() -> Iterator[Finding]:
    """Try each back end in a process of its own, and the one that MUJOCO_GL names."""
    from interlock.messages.errors import nearest
    from interlock.robots.gl_probe import BACKENDS, probe

    found = probe()
    for backend in found:
        text = "draws a picture" if backend.works else backend.reason
        yield Finding(
            what=f"gl {backend.name}", ok=backend.works, text=text, mend=backend.fix, needed=False
        )
    working = [b.name for b in found if b.works]
    asked = os.environ.get("MUJOCO_GL", "").strip()
    if asked and asked not in working:
        why = "does not work here" if asked in BACKENDS else nearest(asked, BACKENDS)
        mend = f"export MUJOCO_GL={working[0]}" if working else "unset MUJOCO_GL"
        yield Finding(what="gl MUJOCO_GL", ok=False, text=f"{asked}: {why}", mend=mend)
    elif working:
        text = f"the OpenGL camera will use {asked or working[0]}"
        yield Finding(what="gl", ok=True, text=text)
    else:
        text = "no OpenGL; the built-in ray camera needs none"
        yield Finding(what="gl", ok=True, text=text)
