"""LeRobot's own async-inference server: refused, with the two ways that work.

Both of its ends exchange Python pickles over gRPC. Loading one runs whatever the other end put
in it, so Interlock does not, and LeRobot's client (torch, gRPC, its own numpy range) does not fit
beside ours. A LeRobot policy is served over ``http-json`` or ``openpi`` from its own environment
by `policies/vla/servers/lerobot_host.py`, which needs nothing of ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from interlock.policies.vla.errors import PolicyServerError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interlock.policies.vla.wire import Reply, WireSettings

ADVICE = (
    "LeRobot's async-inference server speaks pickle over gRPC, which Interlock does not load. "
    "In LeRobot's own environment run `python lerobot_host.py --policy PATH` "
    "(policies/vla/servers/lerobot_host.py) and use a lerobot/* preset, whose wire is http-json"
)


class LerobotWire:
    """Answers every call with what to do instead."""

    def __init__(self, settings: WireSettings, token: str | None = None) -> None:
        self._settings = settings

    async def connect(self) -> Mapping[str, Any]:
        """Refuse, with the way out."""
        self._refuse()

    async def reset(self, episode: str) -> None:
        """Refuse, with the way out."""
        self._refuse()

    async def infer(self, observation: Mapping[str, Any]) -> Reply:
        """Refuse, with the way out."""
        self._refuse()

    async def close(self) -> None:
        """Do nothing: nothing was opened."""

    def _refuse(self) -> NoReturn:
        raise PolicyServerError(ADVICE)
