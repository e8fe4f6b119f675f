"""The walls around an agent: an allow list, and its own process, IPC and network namespaces.

Inside there are the workspace, the interpreter, system programs, ``robo`` and its socket. The only
ways out are relays to the model gateway and to allowed hosts. INTERLOCK_SANDBOX=0 takes the walls
away, and the trial says so; INTERLOCK_SANDBOX_DENY hides more paths (separated by colons).
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from interlock.trials import seatbelt
from interlock.trials.errors import PreflightError
from interlock.trials.interpreter import interpreter_folders, program_folders, python_program

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from interlock.trials.harness import Launch

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/alternatives", "/etc/ssl")
SYSTEM_FILES = ("/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/ld.so.cache")
INSIDE = Path("/run/interlock")
#: Where our rooms lie side by side, in a checkout and in a wheel.
ROOT = Path(__file__).resolve().parent.parent
RELAY_PORT = 8710
APPARMOR = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")


@dataclass(frozen=True, slots=True, kw_only=True)
class Walls:
    """A prepared place for an agent: paths outside, and the same as the agent sees them."""

    kind: str
    workspace: Path
    socket: Path
    bin: Path
    inside_workspace: Path
    inside_socket: Path
    inside_bin: Path


def sandbox_name(wanted: bool) -> str:
    """Return which walls a trial gets: ``bubblewrap``, ``seatbelt`` or ``none``."""
    if not wanted or os.environ.get("INTERLOCK_SANDBOX") == "0":
        return "none"
    return "seatbelt" if sys.platform == "darwin" else "bubblewrap"


def preflight_sandbox(wanted: bool) -> None:
    """Start a trivial program inside walls.

    Raises:
        PreflightError: If there is no bubblewrap, or the kernel does not let it work.
    """
    if sandbox_name(wanted) != "bubblewrap":
        return
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise PreflightError(
            "no bubblewrap: agents run in a sandbox. Install it (apt-get install bubblewrap), or "
            "set INTERLOCK_SANDBOX=0 to run without walls; the trial will say so"
        )
    command = [bwrap, *_namespaces(), "--ro-bind", "/", "/", "--proc", "/proc", "true"]
    tried = subprocess.run(command, capture_output=True, timeout=10, check=False)
    if tried.returncode != 0:
        raise PreflightError(_why(tried.stderr.decode(errors="replace").strip()))


def prepare_room(scratch: Path, *, sandboxed: bool) -> Walls:
    """Make the workspace and a copy of ``robo`` in it; the socket is in ``scratch`` already."""
    workspace, programs = scratch / "workspace", scratch / "bin"
    (workspace / ".home").mkdir(parents=True)
    programs.mkdir()
    source = (ROOT / "cli" / "robo.py").read_text(encoding="utf-8")
    robo = programs / "robo"
    robo.write_text(f"#!{python_program()} -IS\n{source}", encoding="utf-8")
    robo.chmod(0o755)
    for name in ("relay.py", "robo_mcp.py"):
        text = (Path(__file__).parent / name).read_text(encoding="utf-8")
        (programs / name).write_text(text, encoding="utf-8")
    kind = sandbox_name(sandboxed)
    enclosed = kind == "bubblewrap"
    return Walls(
        kind=kind,
        workspace=workspace,
        socket=scratch / "robo.sock",
        bin=programs,
        inside_workspace=Path("/workspace") if enclosed else workspace,
        inside_socket=INSIDE / "robo.sock" if enclosed else scratch / "robo.sock",
        inside_bin=INSIDE / "bin" if enclosed else programs,
    )


def relay_port(walls: Walls, number: int = 0) -> int:
    """Return the port of a relay: fixed in a network of its own, else any free one."""
    if walls.kind == "bubblewrap":
        return RELAY_PORT + number
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def enclose(launch: Launch, walls: Walls, relays: Mapping[int, Path]) -> list[str]:
    """Return the command line that starts the agent inside its walls.

    Args:
        launch: What to start.
        walls: Where it works.
        relays: Port that the agent sees -> unix socket of the runner behind it.
    """
    argv = list(launch.argv)
    if relays:
        enclosed = walls.kind == "bubblewrap"
        seen = {port: INSIDE / path.name if enclosed else path for port, path in relays.items()}
        relay = [python_program(), "-IS", str(walls.inside_bin / "relay.py")]
        argv = [*relay, *(f"{port}={path}" for port, path in seen.items()), "--", *argv]
    if walls.kind == "bubblewrap":
        return bubblewrap_command(argv, launch, walls, sockets=list(relays.values()))
    if walls.kind == "seatbelt":
        sockets = [walls.socket, *relays.values()]
        readable = [*readable_folders(launch), walls.bin]
        profile = seatbelt.profile(
            workspace=walls.workspace, readable=readable, sockets=sockets, hidden=denied_paths()
        )
        return ["sandbox-exec", "-p", profile, *argv]
    return argv


def bubblewrap_command(
    argv: list[str], launch: Launch, walls: Walls, *, sockets: Sequence[Path]
) -> list[str]:
    """Return bubblewrap's command line: nothing is inside but what is named here."""
    command = ["bwrap", *_namespaces(), "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    for path in (*SYSTEM, *SYSTEM_FILES):
        command += _read_only(Path(path))
    for folder in readable_folders(launch):
        command += ["--ro-bind-try", str(folder), str(folder)]
    for hidden in (*_our_packages(), *denied_paths()):
        if hidden.is_dir():
            command += ["--tmpfs", str(hidden)]
        elif hidden.exists():
            command += ["--ro-bind", "/dev/null", str(hidden)]
    command += ["--bind", str(walls.workspace), str(walls.inside_workspace)]
    command += ["--ro-bind", str(walls.bin), str(walls.inside_bin)]
    command += ["--bind", str(walls.socket), str(walls.inside_socket)]
    for way in sockets:
        command += ["--bind", str(way), str(INSIDE / way.name)]
    return [*command, "--chdir", str(walls.inside_workspace), "--", *argv]


def readable_folders(launch: Launch) -> list[Path]:
    """Return the folders an agent may read besides the system's: outer ones first."""
    folders = {*interpreter_folders(), *launch.readable}
    for program in (launch.argv[0], *launch.programs):
        folders |= set(program_folders(program))
    return sorted(folders)


def denied_paths() -> list[Path]:
    """Return what INTERLOCK_SANDBOX_DENY hides besides."""
    text = os.environ.get("INTERLOCK_SANDBOX_DENY", "")
    return [Path(part).resolve() for part in text.split(":") if part]


def _namespaces() -> list[str]:
    return [
        "--die-with-parent",
        "--new-session",
        "--unshare-user-try",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-net",
        "--unshare-uts",
        "--unshare-cgroup-try",
        "--cap-drop",
        "ALL",
    ]


def _read_only(path: Path) -> list[str]:
    if path.is_symlink():
        return ["--symlink", str(path.readlink()), str(path)]
    return ["--ro-bind-try", str(path), str(path)]


def _our_packages() -> list[Path]:
    """Return where our tasks, with their solutions, lie inside the readable folders."""
    inside = any(ROOT.is_relative_to(folder) for folder in interpreter_folders())
    return [ROOT] if inside else []


def _why(stderr: str) -> str:
    if APPARMOR.exists() and APPARMOR.read_text().strip() == "1":
        return (
            f"bubblewrap may not make namespaces here ({stderr}): AppArmor restricts them. Add "
            "/etc/apparmor.d/bwrap: 'abi <abi/4.0>, include <tunables/global> profile bwrap "
            "/usr/bin/bwrap flags=(unconfined) { userns, }' and run apparmor_parser -r on it"
        )
    return (
        f"bubblewrap does not work here: {stderr}. Allow user namespaces, or set "
        "INTERLOCK_SANDBOX=0 to run without walls; the trial will say so"
    )
