"""Rows of the peer: HUD's server under our load, and HUD's client against our bridge."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlock.benchmarks import bridge_peer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_ENVIRONMENT = Path(bridge_peer.__file__).with_name("bridge_env.py")


@contextlib.contextmanager
def hud_server(python: Path, slots: int) -> Iterator[Mapping[str, Any]]:
    """Serve the benchmark's environment with HUD; gives its url, tokens and process."""
    arguments = ["serve", str(_ENVIRONMENT), str(slots)]
    child = _start(python, arguments)
    assert child.stdin is not None
    try:
        yield _line(child)
    finally:
        child.stdin.close()
        child.wait(30)


def hud_drives(python: Path, url: str, token: str, steps: int) -> dict[str, Any]:
    """Drive a bridge with HUD's own client."""
    child = _start(python, ["client", url, token, str(steps)])
    measured = dict(_line(child))
    child.wait(30)
    return {key: round(measured[key], 3) for key in ("per_s", "p50_ms", "p99_ms")}


def _start(python: Path, arguments: list[str]) -> subprocess.Popen[bytes]:
    if not python.exists():
        raise FileNotFoundError("set INTERLOCK_HUD_PYTHON to a python with hud[robot]==0.6.21")
    return subprocess.Popen(
        [str(python), bridge_peer.__file__, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "HUD_TELEMETRY_ENABLED": "false"},
    )


def _line(child: subprocess.Popen[bytes]) -> Mapping[str, Any]:
    assert child.stdout is not None
    for line in child.stdout:
        if line.startswith(b"{"):
            found: Mapping[str, Any] = json.loads(line)
            return found
    raise RuntimeError(f"the peer ended with {child.wait()}")
