"""The macOS sandbox profile for an agent, as text. Untried on a Mac; its text is tested."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

SYSTEM = ("/usr", "/bin", "/sbin", "/System", "/Library", "/private/etc/ssl", "/dev", "/opt")


def profile(
    *,
    workspace: Path,
    readable: Sequence[Path],
    sockets: Sequence[Path],
    hidden: Sequence[Path],
) -> str:
    """Return a profile that denies everything but what is named.

    Args:
        workspace: The one folder that may be written.
        readable: Folders that may be read.
        sockets: Unix sockets that may be connected to.
        hidden: Paths denied even inside readable folders; the last rule wins.
    """
    lines = ["(version 1)", "(deny default)"]
    lines += ["(allow process-exec process-fork)", "(allow sysctl-read)", "(allow mach-lookup)"]
    lines += [f"(allow file-read* (subpath {_quoted(Path(path))}))" for path in SYSTEM]
    lines += [f"(allow file-read* (subpath {_quoted(path)}))" for path in readable]
    lines += [f"(allow file-read* file-write* (subpath {_quoted(workspace)}))"]
    lines += [
        f"(allow network-outbound (remote unix-socket (path-literal {_quoted(path)})))"
        for path in sockets
    ]
    lines += [f"(deny file-read* file-write* (subpath {_quoted(path)}))" for path in hidden]
    names = ("open", "osascript", "shortcuts", "security")
    lines += [f'(deny process-exec (literal "/usr/bin/{name}"))' for name in names]
    return "\n".join(lines) + "\n"


def _quoted(path: Path) -> str:
    text = str(path)
    if '"' in text or "\\" in text or "\n" in text:
        raise ValueError(f"a path in a sandbox profile may not hold quotes: {text!r}")
    return f'"{text}"'
