"""Wires to policy servers, one file each."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from interlock.policies.vla.errors import PolicyError

if TYPE_CHECKING:
    from interlock.policies.vla.wire import Wire, WireKind, WireSettings

#: Kind -> (module, class); imported when used, so that a missing extra hurts only its own wire.
WIRES: dict[WireKind, tuple[str, str]] = {
    "openpi": ("openpi", "OpenpiWire"),
    "xpolicylab": ("xpolicylab", "XPolicyLabWire"),
    "openvla": ("openvla", "OpenvlaWire"),
    "gr00t": ("gr00t", "Gr00tWire"),
    "http-json": ("http_json", "HttpJsonWire"),
    "lerobot": ("lerobot", "LerobotWire"),
    "inprocess": ("inprocess", "InprocessWire"),
}

_NEEDS = {"gr00t": "zmq", "openvla": "httpx", "http-json": "httpx"}


def make_wire(settings: WireSettings, token: str | None = None) -> Wire:
    """Return the wire that a preset names, not yet connected.

    Raises:
        PolicyError: If a library it needs is not installed, or there is no URL.
    """
    if not settings.url and settings.kind != "lerobot":
        raise PolicyError(
            f"the {settings.kind} wire has no address; set INTERLOCK_VLA_URL or wire.url"
        )
    if needed := _NEEDS.get(settings.kind):
        try:
            importlib.import_module(needed)
        except ImportError as error:
            raise PolicyError(
                f"the {settings.kind} wire needs {needed}; pip install 'interlock[vla]'"
            ) from error
    module, name = WIRES[settings.kind]
    wire: Wire = getattr(importlib.import_module(f"{__name__}.{module}"), name)(settings, token)
    return wire
