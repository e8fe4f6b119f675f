"""The environment an agent gets: an allow list, and never a credential."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

#: Variables of the runner that an agent may see.
ALLOWED = frozenset(
    {"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TERM", "USER", "LOGNAME", "SHELL", "NO_COLOR"}
)
SECRET = re.compile(
    r"(^|_)(TOKEN|KEY|KEYS|APIKEY|PASS|PASSWD|PASSWORD|AUTH|CREDENTIALS?|SECRETS?)(_|$)",
    re.IGNORECASE,
)


def agent_environment(
    *, home: Path, socket: Path, bin_folder: Path, extra: Mapping[str, str]
) -> dict[str, str]:
    """Return the scrubbed environment with what the harness adds.

    Args:
        home: Its home folder, inside the workspace.
        socket: Where `robo` finds the episode.
        bin_folder: Folder of `robo`, put first on PATH.
        extra: Variables of the harness; a per-trial gateway key may be among them.
    """
    kept = {key: value for key, value in os.environ.items() if key in ALLOWED}
    kept["PATH"] = f"{bin_folder}:{kept.get('PATH', '/usr/bin:/bin')}"
    kept |= {"HOME": str(home), "TMPDIR": "/tmp", "INTERLOCK_ROBO_SOCKET": str(socket)}
    return {**kept, **extra}


def looks_secret(name: str) -> bool:
    """Return whether a variable's name says that it holds a credential."""
    return SECRET.search(name) is not None
