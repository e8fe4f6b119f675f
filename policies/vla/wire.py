"""What a wire to a policy server promises, and the budgets and sizes every wire is held to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

WireKind = Literal["openpi", "xpolicylab", "openvla", "gr00t", "http-json", "lerobot", "inprocess"]

_BUDGETS = ("connect_budget_s", "warmup_budget_s", "step_budget_s", "close_budget_s")
#: Nobody waits a day for an answer; also keeps "inf" out of the timers.
_LONGEST_S = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WireSettings:
    """The ``wire:`` part of a preset.

    Attributes:
        kind: Which protocol the server speaks.
        url: Where it listens; ``INTERLOCK_VLA_URL`` overrides it.
        path: Path below the URL, for the HTTP wires; empty for the wire's own.
        token_header: Header that carries ``INTERLOCK_VLA_TOKEN``.
        token_format: What the header holds; ``{token}`` is replaced.
        actions_key: Key of the chunk in the reply.
        action_keys: For wires whose reply has a map per part: these, side by side, in this order.
        connect_budget_s: From the first attempt to the server's greeting, retries included, in s.
        connect_retry_s: Pause between two attempts, in s.
        warmup_budget_s: For the first inference of a connection (compiling, loading), in s.
        step_budget_s: For every other inference, in s.
        close_budget_s: For a polite goodbye, in s; then the socket is dropped.
        max_frame_bytes: Largest message accepted or sent, in bytes.
        compression: ``none``, or ``deflate`` (costs about 15 ms for two 224x224 pictures).
        proxy: ``none``, ``environment`` (HTTP_PROXY and friends), or the URL of a proxy.
        reconnect: After a lost connection, connect again before the next inference, or end.
        options: What one wire needs beyond this, e.g. fields of its envelope.
    """

    kind: WireKind
    url: str = ""
    path: str = ""
    token_header: str = "Authorization"
    token_format: str = "Api-Key {token}"
    actions_key: str = "actions"
    action_keys: tuple[str, ...] = ()
    connect_budget_s: float = 30.0
    connect_retry_s: float = 0.5
    warmup_budget_s: float = 300.0
    step_budget_s: float = 10.0
    close_budget_s: float = 1.0
    max_frame_bytes: int = 64 << 20
    compression: Literal["none", "deflate"] = "none"
    proxy: str = "none"
    reconnect: Literal["between_inferences", "never"] = "between_inferences"
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in _BUDGETS:
            value = getattr(self, name)
            if not (0.0 < value <= _LONGEST_S):
                raise ValueError(f"{name} is {value:g}; it must be over 0 and at most 86400 s")
        if not (0.01 <= self.connect_retry_s <= 60.0):
            raise ValueError(f"connect_retry_s is {self.connect_retry_s:g}; 0.01 to 60 s")
        if not (1024 <= self.max_frame_bytes <= 1 << 31):
            raise ValueError(f"max_frame_bytes is {self.max_frame_bytes}; 1024 to 2147483648")
        if "{token}" not in self.token_format:
            raise ValueError(f"token_format {self.token_format!r} has no '{{token}}' in it")

    def headers(self, token: str | None) -> dict[str, str]:
        """Return the header that carries the token, or none."""
        return {self.token_header: self.token_format.format(token=token)} if token else {}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reply:
    """One answer of a policy server.

    Attributes:
        actions: The chunk as the model means it, shape (horizon, width), finite, native floats.
        timing_ms: What the server says about its own time, by name, in ms.
    """

    actions: NDArray[np.floating[Any]]
    timing_ms: Mapping[str, float] = field(default_factory=dict)


class Wire(Protocol):
    """One protocol to a policy server. It keeps no time: `PolicyClient` bounds every call.

    A call that is cancelled or fails leaves the wire unusable until ``close`` and ``connect``,
    so an answer that comes late has nobody left to reach.
    """

    async def connect(self) -> Mapping[str, Any]:
        """Make one attempt to connect; return what the server says about itself.

        Raises:
            PolicyConnectionError: Nobody answered; another attempt may succeed.
            PolicyServerError: The server answered and refused; another attempt is useless.
        """
        ...

    async def reset(self, episode: str) -> None:
        """Tell the server that a new episode begins, where the protocol can say so."""
        ...

    async def infer(self, observation: Mapping[str, Any]) -> Reply:
        """Send one observation and return the chunk that answers it.

        Raises:
            PolicyConnectionError: The connection was lost.
            PolicyServerError: The server reported an error.
            ReplyError: The answer can't be used.
        """
        ...

    async def close(self) -> None:
        """Let go of the connection; safe to call twice, and when there is none."""
        ...
