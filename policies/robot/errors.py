"""What can go wrong between an agent and a robot behind the openpi/0 wire."""

from __future__ import annotations

import json

from interlock.messages.errors import InterlockError


class RobotLinkError(InterlockError):
    """Base: the robot can't be reached, went away, or refused."""


class RobotLostError(RobotLinkError):
    """The connection ended while the episode was running."""


class RobotTimeoutError(RobotLinkError):
    """The robot did not answer within the limit; the connection was dropped."""


class RobotRefusedError(RobotLinkError):
    """The robot said what is wrong.

    Attributes:
        code: Its code, e.g. ``"bad_action"``; ``"error"`` from servers without codes.
        id: Id under which the log of the robot has the rest; empty if it gave none.
        detail: Everything the robot sent, for logs only; it may hold a traceback.
    """

    def __init__(self, message: str, *, code: str, id: str, detail: str) -> None:
        super().__init__(message)
        self.code = code
        self.id = id
        self.detail = detail


class ModelError(InterlockError):
    """A model or an adapter returned something that can't be executed."""


def refusal(text: str, *, doing: str) -> RobotRefusedError:
    """Return the error for a text frame, which holds a typed fault or somebody's traceback."""
    code, id, message = "error", "", _last_line(text)
    try:
        fault = json.loads(text)["error"]
        code, id, message = str(fault["code"]), str(fault["id"]), str(fault["message"])
    except (ValueError, KeyError, TypeError):
        pass
    named = f" ({id})" if id else ""
    return RobotRefusedError(
        f"the robot refused {doing}: {message}{named}", code=code, id=id, detail=text
    )


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (lines[-1] if lines else "(no text)")[:200]
