"""Start a simulator process, in this interpreter or another one, and hear when it is ready."""

from __future__ import annotations

import collections
import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from interlock.messages import errors
from interlock.robots.bridge.faults import BridgeError

_TAIL_LINES = 20
#: What the bridge imports of us: it runs where pyarrow and mujoco are not installed.
_LENT_MESSAGES = (
    "errors",
    "arrays_msgpack",
    "contract",
    "contract_feature",
    "contract_read",
    "contract_schema",
)


def lend(package: Path) -> None:
    """Make a package of links that holds the bridge and no more of us."""
    (package / "messages").mkdir(parents=True)
    (package / "robots").mkdir()
    for folder in ("messages", "robots"):
        (package / folder / "__init__.py").touch()
    messages = Path(errors.__file__).parent
    for name in _LENT_MESSAGES:
        (package / "messages" / f"{name}.py").symlink_to(messages / f"{name}.py")
    (package / "robots" / "bridge").symlink_to(Path(__file__).parent)


class SimProcess:
    """A child that serves one bridge.

    Args:
        order: What to serve; plain JSON values.
        python: Interpreter of the simulator; None takes this one. It needs numpy, msgpack and
            websockets, and what the simulator needs; interlock itself is lent to it.
        start_timeout_s: Longest wait for a simulator to be built.
    """

    def __init__(
        self, order: dict[str, Any], *, python: Path | None = None, start_timeout_s: float = 300.0
    ) -> None:
        self._tail: collections.deque[str] = collections.deque(maxlen=_TAIL_LINES)
        self._lent = tempfile.TemporaryDirectory(prefix="interlock-") if python else None
        reader, writer = os.pipe()
        try:
            self._child = subprocess.Popen(
                [str(python or sys.executable), "-m", "interlock.robots.bridge.child", str(writer)],
                stdin=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=[writer],
                env=self._environment(),
            )
        except OSError as error:
            raise BridgeError(f"cannot start {python or sys.executable}: {error}") from error
        finally:
            os.close(writer)
        threading.Thread(target=self._read_stderr, daemon=True).start()
        try:
            self._send(order)
            self.ready = self._await_ready(reader, start_timeout_s)
        except BaseException:
            self.stop()
            raise
        finally:
            os.close(reader)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._child.pid

    def alive(self) -> bool:
        """Return whether the process still runs."""
        return self._child.poll() is None

    def stop(self, timeout_s: float = 5.0) -> None:
        """End the process: close its input, then kill it."""
        if self._child.stdin is not None:
            with contextlib.suppress(OSError):
                self._child.stdin.close()
        try:
            self._child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        if self._lent is not None:
            self._lent.cleanup()

    def _environment(self) -> dict[str, str]:
        environment = dict(os.environ)
        if self._lent is None:
            return environment
        lend(Path(self._lent.name) / "interlock")
        environment["PYTHONPATH"] = os.pathsep.join(
            [self._lent.name, *filter(None, [environment.get("PYTHONPATH")])]
        )
        environment.pop("VIRTUAL_ENV", None)
        return environment

    def _send(self, order: dict[str, Any]) -> None:
        try:
            line = json.dumps(order).encode() + b"\n"
        except TypeError as error:
            raise BridgeError(f"arguments must be plain JSON values: {error}") from error
        assert self._child.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._child.stdin.write(line)
            self._child.stdin.flush()

    def _await_ready(self, reader: int, timeout_s: float) -> dict[str, Any]:
        end, text = time.monotonic() + timeout_s, b""
        while not text.endswith(b"\n"):
            if not select.select([reader], [], [], max(0.0, end - time.monotonic()))[0]:
                raise BridgeError(f"the simulator was not ready within {timeout_s:g} s")
            piece = os.read(reader, 65536)
            if not piece:
                raise BridgeError(self._why())
            text += piece
        ready: dict[str, Any] = json.loads(text)
        if "error" in ready:
            raise BridgeError(f"the simulator did not start: {ready['error']}")
        return ready

    def _why(self) -> str:
        code = self._child.wait()
        time.sleep(0.05)
        last = next((line for line in reversed(self._tail) if line.strip()), "it said nothing")
        return f"the simulator process ended with code {code} before it was ready: {last.strip()}"

    def _read_stderr(self) -> None:
        assert self._child.stderr is not None
        for raw in self._child.stderr:
            line = raw.decode(errors="replace")
            self._tail.append(line)
            sys.stderr.write(line)
