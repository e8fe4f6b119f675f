"""A task token: who asked for it, for what, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from interlock.messages.task import Grant

if TYPE_CHECKING:
    from interlock.messages.task import TaskRequest

RESOURCES = ("arm", "gripper")
_LONGEST_TEXT = 200


@dataclass(slots=True, kw_only=True)
class Task:
    """One task token and its state.

    Attributes:
        token: The token.
        source: Node that asked for it; only commands of that node carry it.
        asked: The request.
        order: Count of requests, for the queue.
        state: ``queued``, ``granted``, ``revoked`` or ``ended``.
        reason: Why it is revoked or ended.
        heard_ns: When its owner was last heard from, on the Gate's clock.
    """

    token: str
    source: str
    asked: TaskRequest
    order: int
    state: str = "queued"
    reason: str = ""
    heard_ns: int = 0

    @property
    def live(self) -> bool:
        """Whether it is queued or granted."""
        return self.state in ("queued", "granted")

    def grant(self) -> Grant:
        """Return the Gate's word on it."""
        return Grant(
            request=self.asked.request,
            owner=self.asked.owner,
            task=self.token,
            state=self.state,
            reason=self.reason,
        )


def unacceptable(asked: TaskRequest) -> str:
    """Return what is wrong with a request by itself; empty if nothing is."""
    unknown = [r for r in asked.resources if r not in RESOURCES]
    if unknown or not asked.resources:
        return f"resources {list(asked.resources)!r:.80}: expected some of {list(RESOURCES)}"
    texts = (asked.request, asked.owner, asked.name, *asked.touches)
    if any(len(text) > _LONGEST_TEXT for text in texts) or len(asked.touches) > _LONGEST_TEXT:
        return f"a name is longer than {_LONGEST_TEXT} letters"
    if not asked.lease_ms > 0:
        return f"lease_ms: expected above 0, got {asked.lease_ms}"
    return ""
