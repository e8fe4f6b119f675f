"""What a run needs from this machine: the right Python, one dora, free ports."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from interlock.cli.dora_tool import DoraError, ask_dora

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from interlock.cli.node_ports import Ports


def python_of_dora(environ: Mapping[str, str] | None = None) -> str:
    """Return the Python that dora runs nodes with in an environment; empty if it finds none.

    dora 1.1 asks `uv python find` if there is a uv, then looks for python and python3 on PATH.
    """
    environ = os.environ if environ is None else environ
    path = environ.get("PATH", "")
    uv = shutil.which("uv", path=path)
    if uv is not None:
        asked = subprocess.run(
            [uv, "python", "find"],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
        if asked.returncode == 0 and Path(asked.stdout.strip()).exists():
            return asked.stdout.strip()
    return shutil.which("python", path=path) or shutil.which("python3", path=path) or ""


def python_problems() -> Iterator[str]:
    """Yield why `dora run`, started from this shell, would run nodes with another Python."""
    found = python_of_dora()
    ours = Path(sys.prefix)
    if not found:
        yield f"no python on PATH for dora: . {ours}/bin/activate, or use interlock start"
    elif Path(found).parent.parent.resolve() != ours.resolve():
        yield (
            f"plain dora run would use {found}, not the environment {ours}: "
            f". {ours}/bin/activate first, or use interlock start"
        )


def version_problems() -> Iterator[str]:
    """Yield what is wrong with the installed versions of dora."""
    wanted = f"{sys.executable} -m pip install dora-rs==1.1.0 dora-rs-cli==1.1.0"
    try:
        node_api, tool = metadata.version("dora-rs"), metadata.version("dora-rs-cli")
    except metadata.PackageNotFoundError as error:
        yield f"{error.name} is not installed: {wanted}"
        return
    if node_api != tool:
        yield f"dora-rs is {node_api} but dora-rs-cli is {tool}; they must agree: {wanted}"
    try:
        said = ask_dora("--version", timeout_s=10).stdout.split()
    except DoraError as error:
        yield str(error)
        return
    if tool not in said:
        yield f"the dora command is {' '.join(said[:2])}, not {tool}: {wanted}"


def port_in_use(port: int, host: str = "127.0.0.1") -> bool:
    """Return True when something listens on a TCP port."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return True
    return False


def busy_ports(ports: Mapping[str, Ports]) -> Iterator[tuple[str, str, int]]:
    """Yield (node, setting, port) of each port in the settings that is in use already."""
    for node, declared in ports.items():
        for name, value in declared.settings.items():
            if name.endswith("PORT") and str(value).isdigit() and 0 < int(value) < 65536:
                host = str(declared.settings.get("HOST", "127.0.0.1"))
                if port_in_use(int(value), host):
                    yield node, name, int(value)
