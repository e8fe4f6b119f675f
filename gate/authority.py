"""Who may move what: task tokens, leases, exclusive resources, hand-over and revocation.

A token belongs to the node that asked for it. Whether an owner is alive is judged by when the Gate
heard from it, on the Gate's clock, never by what a message says. A resource has one holder; others
queue by priority, and the next one is granted only once the arm is at rest.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from interlock.gate.decision import Reason
from interlock.gate.tokens import Task, unacceptable
from interlock.messages.task import Grant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interlock.messages.task import TaskRequest

#: Bounds on what a sender can make the Gate keep.
MAX_TASKS_PER_SOURCE = 32
MAX_TASKS = 128
_ENDED_KEPT = 500


@dataclass(slots=True)
class Authority:
    """Tokens and resources.

    Attributes:
        secret: Tokens are derived from it, so that they can't be guessed.
        max_lease_ms: Longest lease that may be asked for, in ms.
        blocked: Why no task is accepted or granted at present; empty when they are.
        recorded: Tokens of a recorded run that is judged again, by owner and request.
    """

    secret: bytes
    max_lease_ms: int = 2000
    blocked: str = ""
    recorded: dict[tuple[str, str], str] = field(default_factory=dict)
    _tasks: dict[str, Task] = field(default_factory=dict)
    _by_request: dict[tuple[str, str], str] = field(default_factory=dict)
    _count: int = 0

    def request(self, asked: TaskRequest, source: str, now_ns: int) -> Grant:
        """Take a request; one that was repeated gets the same answer again."""
        known = self._by_request.get((source, asked.request))
        if known is not None and known in self._tasks:
            task = self._tasks[known]
            self._hear(task, now_ns)
            return task.grant()
        problem = self.blocked or self._refusal(asked, source)
        if problem:
            return Grant(
                request=asked.request, owner=asked.owner, task="", state="refused", reason=problem
            )
        self._count += 1
        token = self.recorded.get((asked.owner, asked.request)) or self._mint()
        kept = replace(asked, lease_ms=min(asked.lease_ms, self.max_lease_ms))
        task = Task(token=token, source=source, asked=kept, order=self._count, heard_ns=now_ns)
        self._tasks[token] = task
        self._by_request[source, asked.request] = token
        self._forget_old()
        return task.grant()

    def hand_over(self, *, arm_at_rest: bool) -> list[Grant]:
        """Grant what can be granted now, in order of priority; return the new grants."""
        granted = []
        waiting = [t for t in self._tasks.values() if t.state == "queued"]
        for task in sorted(waiting, key=lambda t: (-t.asked.priority, t.order)):
            wanted = set(task.asked.resources)
            if not self._free(task, wanted) or self._earlier(task, waiting, wanted):
                continue
            if "arm" in wanted and not arm_at_rest and not self._inherits(task, "arm"):
                continue
            task.state = "granted"
            granted.append(task.grant())
        return granted

    def hear(self, owner: str, source: str, now_ns: int) -> None:
        """Note that an owner is alive."""
        for task in self._tasks.values():
            if task.live and task.source == source and task.asked.owner == owner:
                self._hear(task, now_ns)

    def hear_token(self, token: str, source: str, now_ns: int) -> None:
        """Note that the owner of a task has sent a command."""
        if self.live(token) and self.owned_by(token, source):
            self._hear(self._tasks[token], now_ns)

    def reason(self, token: str, source: str, resources: set[str]) -> Reason | None:
        """Return why a command of a task is refused, or None."""
        task = self._tasks.get(token)
        if task is None:
            return Reason(
                code="no_task",
                sentence=f"The command carries no task token of this Gate ({token!r:.24})",
                way_out="Ask for a task first and use the token of its grant.",
            )
        if task.source != source:
            return Reason(
                code="not_owner",
                sentence=f"The task belongs to {task.source}, the command came from {source}",
                way_out="Ask for a task of your own.",
            )
        if task.state == "queued":
            return Reason(
                code="queued",
                sentence="The task waits for its turn: another task holds what it needs",
                way_out="Wait for its grant.",
            )
        if not task.live:
            return Reason(
                code="revoked",
                sentence=f"The task is over: {task.reason or task.state}",
                way_out="Ask for a new task.",
            )
        return self._without(task, resources)

    def touches(self, token: str) -> frozenset[str]:
        """Return what a task and its parents may touch."""
        task = self._tasks.get(token)
        found: set[str] = set()
        while task is not None:
            found |= set(task.asked.touches)
            task = self._tasks.get(task.asked.parent)
        return frozenset(found)

    def end(self, token: str, *, reason: str, finished: bool = False) -> list[Grant]:
        """End a task and all its children; return what changed."""
        task = self._tasks.get(token)
        if task is None or not task.live:
            return []
        task.state = "ended" if finished else "revoked"
        task.reason = reason
        changed = [task.grant()]
        for child in list(self._tasks.values()):
            if child.asked.parent == token and child.live and not child.asked.detached:
                changed += self.end(child.token, reason="its parent task is over")
        return changed

    def end_all(self, reason: str) -> list[Grant]:
        """Revoke every task."""
        return [g for t in list(self._tasks.values()) for g in self.end(t.token, reason=reason)]

    def end_source(self, source: str, reason: str) -> list[Grant]:
        """Revoke the tasks of a node that is gone, but not the detached ones."""
        # When it is started again, it counts its requests from the beginning.
        self._by_request = {k: t for k, t in self._by_request.items() if k[0] != source}
        gone = [t for t in self._tasks.values() if t.source == source and not t.asked.detached]
        return [g for t in gone for g in self.end(t.token, reason=reason)]

    def expire(self, now_ns: int) -> list[Grant]:
        """Revoke the tasks whose owner has not been heard from within its lease."""
        changed = []
        for task in list(self._tasks.values()):
            silent_ms = (now_ns - task.heard_ns) / 1e6
            if task.live and not task.asked.detached and not silent_ms <= task.asked.lease_ms:
                reason = (
                    f"its owner {task.asked.owner!r} was not heard from for {silent_ms:.0f} ms, "
                    f"its lease is {task.asked.lease_ms} ms"
                )
                changed += self.end(task.token, reason=reason)
        return changed

    def owned_by(self, token: str, source: str) -> bool:
        """Return whether a live task belongs to a node."""
        task = self._tasks.get(token)
        return task is not None and task.source == source

    def live(self, token: str) -> bool:
        """Return whether a task is queued or granted."""
        task = self._tasks.get(token)
        return task is not None and task.live

    def holder(self, resource: str) -> str:
        """Return the token that may use a resource now; empty if none."""
        holders = [t for t in self._tasks.values() if self._holds(t, resource)]
        return max(holders, key=lambda t: t.order).token if holders else ""

    def _refusal(self, asked: TaskRequest, source: str) -> str:
        problem = unacceptable(asked)
        if problem:
            return problem
        if asked.parent and not (self.live(asked.parent) and self.owned_by(asked.parent, source)):
            return "its parent task is over, or belongs to another node"
        live = [t for t in self._tasks.values() if t.live]
        if len(live) >= MAX_TASKS or sum(t.source == source for t in live) >= MAX_TASKS_PER_SOURCE:
            return f"{source} has {MAX_TASKS_PER_SOURCE} tasks at once, or all have {MAX_TASKS}"
        return ""

    def _without(self, task: Task, resources: set[str]) -> Reason | None:
        for resource in sorted(resources):
            if resource not in task.asked.resources:
                return Reason(
                    code="not_held",
                    sentence=f"The task does not hold the {resource}",
                    way_out=f"Ask for a task with the {resource} among its resources.",
                )
            if self.holder(resource) != task.token:
                return Reason(
                    code="lent",
                    sentence=f"A child of the task holds the {resource} now",
                    way_out="Wait until it ends.",
                )
        return None

    def _holds(self, task: Task, resource: str) -> bool:
        return task.state == "granted" and resource in task.asked.resources

    def _free(self, task: Task, wanted: set[str]) -> bool:
        ancestors = set(self._ancestors(task))
        return all(self.holder(r) in ancestors | {""} for r in wanted)

    def _inherits(self, task: Task, resource: str) -> bool:
        return self.holder(resource) in set(self._ancestors(task))

    def _ancestors(self, task: Task) -> Iterator[str]:
        parent = self._tasks.get(task.asked.parent)
        while parent is not None:
            yield parent.token
            parent = self._tasks.get(parent.asked.parent)

    @staticmethod
    def _earlier(task: Task, waiting: list[Task], wanted: set[str]) -> bool:
        mine = (-task.asked.priority, task.order)
        return any(
            other.state == "queued"
            and (-other.asked.priority, other.order) < mine
            and wanted & set(other.asked.resources)
            and not task.asked.parent
            for other in waiting
        )

    @staticmethod
    def _hear(task: Task, now_ns: int) -> None:
        task.heard_ns = max(task.heard_ns, now_ns)

    def _mint(self) -> str:
        data = f"task {self._count}".encode()
        return hashlib.blake2b(data, key=self.secret, digest_size=12).hexdigest()

    def _forget_old(self) -> None:
        ended = [t for t in self._tasks.values() if not t.live]
        for task in ended[:-_ENDED_KEPT]:
            del self._tasks[task.token]
        self._by_request = {k: t for k, t in self._by_request.items() if t in self._tasks}
