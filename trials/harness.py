"""The protocol of harnesses, and the table of those we know.

A harness is a *player*, which runs inside the trusted runner (controls: oracle, noop, scripted), or
a *launcher*, whose agent is a process of its own, sandboxed. Plug-ins are entry points of group
``interlock.harnesses``.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from interlock.messages.errors import nearest
from interlock.trials.errors import PreflightError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from interlock.trials.backend import Motion, World
    from interlock.trials.plan import Plan
    from interlock.trials.robo_client import RoboClient

HARNESSES_GROUP = "interlock.harnesses"

HARNESSES = {
    "oracle": "interlock.trials.harnesses.oracle:Oracle",
    "noop": "interlock.trials.harnesses.noop:Noop",
    "scripted": "interlock.trials.harnesses.scripted:Scripted",
    "program": "interlock.trials.harnesses.program:Program",
    "react": "interlock.trials.harnesses.react:React",
    "claude-code": "interlock.trials.harnesses.claude_code:ClaudeCode",
    "codex": "interlock.trials.harnesses.codex:Codex",
    "gemini-cli": "interlock.trials.harnesses.gemini_cli:GeminiCli",
    "mini-swe-agent": "interlock.trials.harnesses.mini_swe_agent:MiniSweAgent",
    "show-harness": "interlock.trials.harnesses.show_harness:ShowHarness",
    "vla": "interlock.trials.harnesses.vla:Vla",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Where an agent process works, as paths *it* sees.

    Attributes:
        workspace: Its current folder, empty but for what the harness put there.
        socket: The socket of ``robo``.
        bin: Folder of ``robo`` and its MCP server.
        prompt: The whole prompt.
        gateway_url: Base URL of the model gateway; "" without one.
        gateway_key: The key of this trial at the gateway.
        model: The model's name at the gateway.
    """

    workspace: Path
    socket: Path
    bin: Path
    prompt: str
    gateway_url: str = ""
    gateway_key: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How to start an agent process.

    Attributes:
        argv: Command line.
        environment: Variables added to the scrubbed environment.
        files: Files written into the workspace first, by relative path.
        readable: Folders besides the interpreter and system ones that it must read.
        programs: Programs besides ``argv[0]`` that it starts; their folders are readable too.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    readable: tuple[Path, ...] = ()
    programs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a transcript, the same for every harness.

    Attributes:
        source: ``agent``, ``tool`` or ``system``.
        text: What was said, or what the tool answered.
        tool: Name of the tool, or "".
        arguments: What the tool was given.
    """

    source: str
    text: str
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens and money as the agent reports them; None where it does not."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


class Inside(Protocol):
    """What a player may do that no agent may."""

    @property
    def outcome(self) -> str | None:
        """How the episode ended; None while it runs."""
        ...

    def resolve(self, line: str) -> str:
        """Put true positions into a line of the reference solution."""
        ...

    def run_policy(self, make: Callable[[World], Motion]) -> dict[str, Any]:
        """Let a policy drive the robot as one motion, and return the whole reply."""
        ...


@runtime_checkable
class Player(Protocol):
    """A harness that acts from inside the runner."""

    def preflight(self, plan: Plan) -> None:
        """Raise PreflightError if the trial cannot work."""
        ...

    def play(self, robo: RoboClient, plan: Plan, inside: Inside) -> None:
        """Act, through the socket or with what only the runner may do."""
        ...


@runtime_checkable
class Reporter(Protocol):
    """A player that tells afterwards what it did; it goes into the result under ``agent``."""

    report: dict[str, Any]


@runtime_checkable
class Launcher(Protocol):
    """A harness whose agent is a process."""

    #: The wire its model speaks: ``anthropic``, ``openai``, ``responses``, ``gemini`` or "".
    wire: str
    #: The model when none is asked for; "" if it has none.
    default_model: str

    def preflight(self, plan: Plan) -> None:
        """Raise PreflightError if the trial cannot work."""
        ...

    def launch(self, plan: Plan, room: Room) -> Launch:
        """Return how to start the agent."""
        ...

    def transcript(self, stdout: str) -> tuple[list[Step], Usage]:
        """Read what the agent printed; lines that are not understood are skipped."""
        ...

    def failure(self, returncode: int | None, stdout: str) -> str | None:
        """Return why the agent itself failed (no credentials, API error), or None."""
        ...


def make_harness(name: str) -> Player | Launcher:
    """Return a harness by its name.

    Raises:
        PreflightError: If there is none.
    """
    target = HARNESSES.get(name) or _plug_ins().get(name)
    if target is None:
        raise PreflightError(f"no harness {name!r}; {nearest(name, (*HARNESSES, *_plug_ins()))}")
    module, _, attribute = target.partition(":")
    harness: Player | Launcher = getattr(importlib.import_module(module), attribute)()
    return harness


def _plug_ins() -> dict[str, str]:
    from importlib.metadata import entry_points

    return {entry.name: entry.value for entry in entry_points(group=HARNESSES_GROUP)}
