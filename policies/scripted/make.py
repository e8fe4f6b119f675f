"""Programs by name, made from the options of a policy node."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from interlock.policies.load import load_program
from interlock.policies.scripted import pick_and_place as picking

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    Program = Callable[[], Coroutine[Any, Any, Any]]


class Options(Protocol):
    """What programs read of a node's settings."""

    @property
    def object(self) -> str:
        """What to take."""

    @property
    def target(self) -> str:
        """Where to put it."""

    @property
    def program(self) -> str:
        """A Python file with ``async def main()``."""

    @property
    def duration_s(self) -> float:
        """How long ``noop`` stays, in s; 0 for ever."""


def pick_and_place(options: Options) -> Program:
    """Put the object on the target."""
    return lambda: picking.pick_and_place(target=options.object, on=options.target)


def noop(options: Options) -> Program:
    """Do nothing for a while."""

    async def stay() -> str:
        await asyncio.sleep(options.duration_s or 1e9)
        return f"did nothing for {options.duration_s:g} s"

    return stay


def program(options: Options) -> Program:
    """Run ``main`` of a file."""
    return load_program(Path(options.program))
