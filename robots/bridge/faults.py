"""What a peer of the bridge is told when something is wrong: one short line and a close code.

The line is JSON with a stable ``code``, an ``id`` under which the server's log holds the whole
story, and one sentence. Tracebacks and paths stay on the server.
"""

from __future__ import annotations

import json
import secrets

from interlock.messages.errors import InterlockError

#: Fault code -> WebSocket close code.
CLOSE_CODES = {
    "stopping": 1001,
    "bad_frame": 1007,
    "bad_claim": 1008,
    "unknown_token": 1008,
    "bad_action": 1008,
    "robot_fault": 1011,
    "internal": 1011,
    "claim_timeout": 4408,
    "action_timeout": 4408,
    "not_granted": 4403,
    "slot_busy": 4409,
    "episode_over": 4410,
}
_MAX_TEXT = 300


class BridgeError(InterlockError):
    """The bridge, its simulator process or its control plane can't do what was asked."""


class WireError(BridgeError):
    """Something one peer is told before its connection is closed.

    Args:
        code: A key of `CLOSE_CODES`.
        message: One sentence: value, limit, way out. Never a traceback.
        id: Short id that the server's log repeats.
    """

    def __init__(self, code: str, message: str, *, id: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = " ".join(message.split())[:_MAX_TEXT]
        self.id = id or new_id()

    @property
    def close_code(self) -> int:
        """The WebSocket close code of this fault."""
        return CLOSE_CODES[self.code]

    def text(self) -> str:
        """Return the text frame that the peer receives."""
        return json.dumps({"error": {"code": self.code, "id": self.id, "message": self.message}})


class BusyError(BridgeError):
    """No slot can be claimed now; the same request can succeed later."""


def new_id() -> str:
    """Return a short id to find one fault in the log."""
    return "e-" + secrets.token_hex(4)
