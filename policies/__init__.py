"""What decides: skills, programs, VLA clients, LLM agents.

``PROGRAMS`` names what a policy node can run with ``POLICY: <name>``: a module and a function
that takes the node's options and returns the coroutine of the program.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from interlock.messages.errors import SettingsError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

#: POLICY -> (module in interlock.policies, function).
PROGRAMS: dict[str, tuple[str, str]] = {
    "scripted": ("scripted.make", "pick_and_place"),
    "noop": ("scripted.make", "noop"),
    "program": ("scripted.make", "program"),
    "react": ("agents.make", "react_program"),
    "code": ("agents.make", "code_program"),
    "two_rate": ("agents.make", "two_rate_program"),
}


def make_program(name: str, options: Any) -> Callable[[], Coroutine[Any, Any, Any]]:
    """Return the program of a name, ready to run.

    Raises:
        SettingsError: If there is none of this name, naming the nearest.
    """
    if name not in PROGRAMS:
        raise SettingsError(f"POLICY {name!r}: {nearest(name, PROGRAMS)}")
    module, function = PROGRAMS[name]
    make = getattr(importlib.import_module(f"interlock.policies.{module}"), function)
    program: Callable[[], Coroutine[Any, Any, Any]] = make(options)
    return program
