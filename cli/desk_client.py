"""An asyncio client of the skills node: one connection, many requests at a time."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import TYPE_CHECKING, Any

from interlock.cli.desk import DeskError

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType
    from typing import Self

_LIMIT = 4_000_000


class DeskClient:
    """What it started ends when it disconnects."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Connect.

        Raises:
            DeskError: If nobody listens.
        """
        try:
            reader, self._writer = await asyncio.open_unix_connection(self._path, limit=_LIMIT)
        except OSError as error:
            raise DeskError(f"no skills node at {self._path}: {error.strerror}") from error
        self._reading = asyncio.create_task(self._read(reader))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        """Disconnect."""
        if self._writer is not None:
            self._writer.close()
        if self._reading is not None:
            self._reading.cancel()

    async def ask(self, **request: Any) -> dict[str, Any]:
        """Send a request and wait for its answer.

        Raises:
            DeskError: If the answer is an error or the connection is lost.
        """
        if self._writer is None or self._writer.is_closing():
            raise DeskError("the run has ended")
        number = next(self._numbers)
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            self._writer.write(json.dumps({"id": number, **request}).encode() + b"\n")
            answer = await future
        finally:
            self._waiting.pop(number, None)
        if not answer.get("ok"):
            raise DeskError(str(answer.get("error")))
        return answer

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while line := await reader.readline():
                answer = json.loads(line)
                future = self._waiting.get(answer.get("id"))
                if future is not None and not future.done():
                    future.set_result(answer)
        finally:
            if self._writer is not None:
                self._writer.close()
            for future in self._waiting.values():
                if not future.done():
                    future.set_exception(DeskError("the run has ended"))
