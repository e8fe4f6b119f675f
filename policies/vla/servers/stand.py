"""Start a test server for any wire, with a behaviour and faults; also `interlock policy serve`."""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from interlock.policies.vla.errors import PolicyError
from interlock.policies.vla.servers.behaviour import Behaviour, Stub
from interlock.policies.vla.servers.faults import Faults
from interlock.policies.vla.servers.http import HttpServer
from interlock.policies.vla.servers.websocket import WebSocketServer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from interlock.policies.vla.wire import WireKind


@dataclass(slots=True, kw_only=True)
class Stand:
    """What a test server serves.

    Attributes:
        kind: The wire.
        behaviour: Where actions come from.
        faults: What goes wrong.
        metadata: The greeting, for wires that have one.
        token: What a client must send; None accepts everybody.
        action_keys: Parts of the action with their widths, for wires that name parts.
        max_frame_bytes: Largest message accepted, in bytes.
        requests: Observations received so far, newest last (at most 100 are kept).
    """

    kind: WireKind
    behaviour: Behaviour = field(default_factory=Stub)
    faults: Faults = field(default_factory=Faults)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    token: str | None = None
    action_keys: Mapping[str, int] = field(default_factory=dict)
    max_frame_bytes: int = 64 << 20
    requests: list[Any] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def next_request(self) -> int:
        """Return the number of this request, from 0."""
        return next(self._numbers)

    def accepts(self, headers: Mapping[str, str]) -> bool:
        """Return whether a request carries the token."""
        if self.token is None:
            return True
        sent = {name.lower(): value for name, value in headers.items()}
        return self.token in sent.get("authorization", "")

    def actions(self, observation: Mapping[str, Any], request: int, *, json: bool) -> Any:
        """Return the chunk as this server writes it."""
        self.requests = [*self.requests[-99:], observation]
        return self.faults.actions(self.behaviour.act(observation, request), request, json=json)

    def parts(self, observation: Mapping[str, Any], request: int) -> Any:
        """Return the chunk cut into named parts, each with a batch of one."""
        chunk = self.actions(observation, request, json=False)
        if isinstance(chunk, dict | list) or not self.action_keys:
            return {"actions": chunk}
        return {k: part[np.newaxis] for k, part in self._cut(np.asarray(chunk)).items()}

    def rows(self, observation: Mapping[str, Any], request: int) -> Any:
        """Return the chunk as a list of rows, each a map of named parts."""
        chunk = self.actions(observation, request, json=False)
        if isinstance(chunk, dict | list) or not self.action_keys:
            return chunk
        parts = self._cut(np.asarray(chunk))
        return [{k: part[i] for k, part in parts.items()} for i in range(len(chunk))]

    def _cut(self, chunk: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
        edges = np.cumsum([0, *self.action_keys.values()])
        return {
            key: chunk[:, a:b]
            for key, a, b in zip(self.action_keys, edges[:-1], edges[1:], strict=True)
        }


class RunningServer(Protocol):
    """A server in a thread."""

    def start(self) -> str:
        """Start listening; return the URL."""
        ...

    def stop(self) -> None:
        """Stop listening and end the thread."""
        ...


def make_server(stand: Stand, *, host: str = "127.0.0.1", port: int = 0) -> RunningServer:
    """Return the server for a wire; port 0 takes a free one.

    Raises:
        PolicyError: For wires without a server: lerobot and inprocess.
    """
    if stand.kind in ("openpi", "xpolicylab"):
        return WebSocketServer(stand, host=host, port=port)
    if stand.kind in ("openvla", "http-json"):
        return HttpServer(stand, host=host, port=port)
    if stand.kind == "gr00t":
        from interlock.policies.vla.servers.zeromq import ZeroMqServer

        return ZeroMqServer(stand, host=host, port=port)
    raise PolicyError(f"there is no test server for the {stand.kind} wire")


@contextlib.contextmanager
def serving(stand: Stand, *, host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """Serve while the block runs; gives the URL."""
    server = make_server(stand, host=host, port=port)
    url = server.start()
    try:
        yield url
    finally:
        server.stop()
