"""Is anybody listening? Asked once, with a short limit, before anything starts."""

from __future__ import annotations

import socket

from interlock.trials.errors import PreflightError

CONNECT_S = 0.8


def check_reachable(host: str, port: int | None, *, what: str) -> None:
    """Refuse when nobody answers at an address.

    Raises:
        PreflightError: With what was tried.
    """
    try:
        with socket.create_connection((host, port or 80), timeout=CONNECT_S):
            return
    except OSError as error:
        raise PreflightError(
            f"nobody answers at {what} ({error}). Start it, or correct its address"
        ) from error
