"""How a bridge listens, how long it waits, and how time passes. Loopback unless told otherwise."""

from __future__ import annotations

import ipaddress
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from interlock.messages.errors import SettingsError

if TYPE_CHECKING:
    from pathlib import Path

Pace = Literal["lockstep", "realtime"]
OnLimit = Literal["refuse", "clip"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeSettings:
    """Settings of one bridge; every wait and every size is finite.

    Attributes:
        host: Address to listen on.
        port: Port of the websocket; 0 takes a free one.
        control_port: Port of the control plane; 0 takes a free one.
        token: Secret a client must present (``Authorization: Bearer`` or ``?token=``); None: none.
        allow_anyone: Listen beyond loopback without a token.
        pace: ``lockstep`` steps when the action is there; ``realtime`` steps at the control rate
            and holds when no action came.
        on_limit: A finite action outside its limits is refused (the robot holds) or clipped.
        auto_reset: A claim without token resets a free slot when none is claimed.
        max_frame_bytes: Largest frame a client may send.
        max_connections: Connections at one time.
        claim_timeout_s: From the connection to the claim.
        dial_timeout_s: From the reset to the claim of its slot.
        redial_timeout_s: How long a lost client may come back to its episode.
        gather_s: How long a batch that only resets as a whole waits for more claims before its
            first step.
        first_action_timeout_s: From the first observation to the first action (model warm-up).
        action_timeout_s: From a later observation to its action.
        ping_interval_s: How often the bridge asks whether the client is alive.
    """

    host: str = "127.0.0.1"
    port: int = 0
    control_port: int = 0
    token: str | None = None
    allow_anyone: bool = False
    pace: Pace = "lockstep"
    on_limit: OnLimit = "refuse"
    auto_reset: bool = False
    max_frame_bytes: int = 16 * 2**20
    max_connections: int = 256
    claim_timeout_s: float = 30.0
    dial_timeout_s: float = 120.0
    redial_timeout_s: float = 300.0
    gather_s: float = 1.0
    first_action_timeout_s: float = 300.0
    action_timeout_s: float = 60.0
    ping_interval_s: float = 20.0

    def __post_init__(self) -> None:
        """Refuse an open door without a lock, and waits that never end."""
        if not is_loopback(self.host) and self.token is None and not self.allow_anyone:
            raise SettingsError(
                f"host {self.host!r} is reachable from other machines; set a token, "
                "or allow_anyone=True"
            )
        for name in ("claim", "dial", "redial", "first_action", "action"):
            value = getattr(self, f"{name}_timeout_s")
            if not 0 < value <= 86_400:
                raise SettingsError(f"{name}_timeout_s {value} is not in (0, 86400] s")
        if not 1024 <= self.max_frame_bytes <= 2**31:
            raise SettingsError(f"max_frame_bytes {self.max_frame_bytes} is not in [1024, 2^31]")


def is_loopback(host: str) -> bool:
    """Return whether an address only reaches this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_token(file: Path) -> str:
    """Return the secret that a file holds.

    Raises:
        SettingsError: If it can't be read, is empty, or others may read it.
    """
    try:
        mode, text = file.stat().st_mode, file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise SettingsError(f"token file {file}: {error.strerror}") from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise SettingsError(f"token file {file}: others may read it; chmod 600 {file}")
    if not text:
        raise SettingsError(f"token file {file}: it is empty; write one line of text")
    return text
