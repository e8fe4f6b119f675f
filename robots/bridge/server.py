"""The bridge as a server: a websocket and a control plane on a thread, the robot on the caller's.

``BridgeServer(...).run()`` serves until `stop`; the thread that calls it is the robot's thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import http
import logging
import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import websockets.asyncio.server as websocket_server

from interlock.robots.bridge.admission import Admission, ContractCheck
from interlock.robots.bridge.control import ControlPlane
from interlock.robots.bridge.engine import Engine
from interlock.robots.bridge.faults import BridgeError, WireError
from interlock.robots.bridge.robot import RobotBridge
from interlock.robots.bridge.robot_thread import RobotThread
from interlock.robots.bridge.session import Session
from interlock.robots.bridge.settings import BridgeSettings
from interlock.robots.bridge.sims import SeparateSims, Sims
from interlock.robots.bridge.sims_batch import BatchSim

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from websockets.asyncio.server import Server, ServerConnection
    from websockets.http11 import Request, Response

_SWEEP_S = 0.1
_STOP_S = 3.0
_WRITE_BUFFER_BYTES = 4 * 2**20
_log = logging.getLogger(__name__)


class BridgeServer:
    """Serves one robot, several separate ones, or a batch.

    Args:
        robots: A `RobotBridge`, or several that do not depend on each other.
        settings: How to listen and wait.
        admission: Judges every action; the default checks the limits of the contract.
        idle: Called on the robot's thread while nothing happens (simulators with a window).
    """

    def __init__(
        self,
        robots: RobotBridge | Sequence[RobotBridge],
        settings: BridgeSettings | None = None,
        *,
        admission: Admission | None = None,
        idle: Callable[[], None] | None = None,
    ) -> None:
        self.settings = settings or BridgeSettings()
        self.sims = _sims(robots)
        feature = self.sims.contract.action
        judge = admission or ContractCheck(feature=feature, on_limit=self.settings.on_limit)
        self.engine = Engine(self.sims, judge, self.settings, thread=RobotThread(idle))
        self.url = ""
        self.control_port = 0
        self._ready = threading.Event()
        self._failed: BaseException | None = None
        self._stop: Callable[[], None] = lambda: None
        self._connections = 0
        self._sessions: set[Session] = set()

    def start(self) -> None:
        """Listen; `url` and `control_port` are known when it returns.

        Raises:
            BridgeError: If the address can't be had.
        """
        self.engine.thread.serve(self._serve_safely())
        self._ready.wait()
        if self._failed is not None:
            raise BridgeError(f"cannot listen on {self.settings.host}: {self._failed}")

    def run(self) -> None:
        """Run the robot on this thread until `stop`; starts listening if nobody did."""
        if not self._ready.is_set():
            self.start()
        try:
            self.engine.thread.run()
        finally:
            self._stop()
            self.engine.thread.ended.wait(_STOP_S)
            self.sims.close()

    def stop(self) -> None:
        """End every session and let `run` return; safe from any thread."""
        self._stop()
        self.engine.thread.stop()

    async def _serve_safely(self) -> None:
        try:
            await self._serve()
        except Exception as error:
            self._failed = error
            _log.debug("the bridge ended", exc_info=error)
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        stopping = asyncio.Event()
        self._stop = lambda: _call(loop, stopping.set)
        async with contextlib.AsyncExitStack() as stack:
            server = await stack.enter_async_context(self._websocket())
            self.url = _url(server, self.settings.host)
            control = ControlPlane(self.engine, self.settings, self.url)
            self.control_port = await stack.enter_async_context(control.listen())
            background = [asyncio.create_task(self._sweep())]
            if self.settings.pace == "realtime":
                background.append(asyncio.create_task(self._tick()))
            self._ready.set()
            await stopping.wait()
            for session in self._sessions:
                session.fail(WireError("stopping", "the bridge is stopping"))
            await asyncio.sleep(0)
            for task in background:
                task.cancel()

    def _websocket(self) -> Any:
        settings = self.settings
        return websocket_server.serve(
            self._session,
            settings.host,
            settings.port,
            compression=None,
            max_size=settings.max_frame_bytes,
            write_limit=_WRITE_BUFFER_BYTES,
            ping_interval=settings.ping_interval_s,
            # A client may think without answering pings for as long as it may think at all.
            ping_timeout=max(settings.first_action_timeout_s, settings.action_timeout_s),
            process_request=self._admit_request,
            origins=[None],
            server_header=None,
            close_timeout=2.0,
        )

    def _admit_request(self, connection: ServerConnection, request: Request) -> Response | None:
        url = urlsplit(request.path)
        if url.path == "/healthz":
            return connection.respond(http.HTTPStatus.OK, "OK\n")
        if self._connections >= self.settings.max_connections:
            return connection.respond(
                http.HTTPStatus.SERVICE_UNAVAILABLE,
                f"{self._connections} connections, limit {self.settings.max_connections}\n",
            )
        if self.settings.token is None:
            return None
        offered = request.headers.get("Authorization", "").partition(" ")[2]
        offered = offered or parse_qs(url.query).get("token", [""])[0]
        if hmac.compare_digest(offered.encode(), self.settings.token.encode()):
            return None
        return connection.respond(http.HTTPStatus.UNAUTHORIZED, "this bridge needs its token\n")

    async def _session(self, socket: ServerConnection) -> None:
        session = Session(socket, self.engine)
        self._connections += 1
        self._sessions.add(session)
        try:
            await session.run()
        finally:
            self._connections -= 1
            self._sessions.discard(session)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_S)
            try:
                await self.engine.sweep()
            except Exception:
                _log.exception("ending an overdue wait failed")

    async def _tick(self) -> None:
        period_s = 1.0 / self.sims.contract.control_rate_hz
        loop = asyncio.get_running_loop()
        due = loop.time() + period_s
        while True:
            await asyncio.sleep(max(0.0, due - loop.time()))
            self.engine.ticks.tick()
            # A late tick is skipped, not made up for: two steps at once would be a jump.
            due = max(due + period_s, loop.time())


def _sims(robots: RobotBridge | Sequence[RobotBridge]) -> Sims:
    if not isinstance(robots, RobotBridge):
        return SeparateSims(robots)
    return SeparateSims([robots]) if robots.num_slots is None else BatchSim(robots)


def _url(server: Server, host: str) -> str:
    port = next(iter(server.sockets)).getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    return f"ws://{shown}:{port}"


def _call(loop: asyncio.AbstractEventLoop, function: Callable[[], Any]) -> None:
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(function)
